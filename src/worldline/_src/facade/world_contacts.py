# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Members of World for contacts, collision queries and pairs that never touch."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from worldline._src.collision.shapes import CollisionShape
from worldline._src.errors import ArgumentError
from worldline._src.facade import contacts, shapes, step_report, values
from worldline._src.facade.contacts import Contact, ContactForce
from worldline._src.facade.known_names import KnownNames
from worldline._src.facade.link import Link
from worldline._src.facade.rigid_body import RigidBody
from worldline._src.facade.step_report import BreakEvent, ContactEvent, StepReport
from worldline._src.facade.values import TransformLike, VectorLike
from worldline._src.later import DeferredModule

if TYPE_CHECKING:
    from worldline._src.collision.results import CollisionOption
    from worldline._src.facade import explain, ledger, queries, visibility
    from worldline._src.facade.explain import Explanation
    from worldline._src.facade.ledger import EnergyLedger
    from worldline._src.facade.queries import BodyDistance, BodyLike, BodyPoint, CollisionQueries, RayHits
    from worldline._src.facade.query_options import CollisionQueryOptions
    from worldline._src.facade.visibility import VisibilityQueries
    from worldline._src.facade.world import World
else:
    explain = DeferredModule("facade.explain")
    ledger = DeferredModule("facade.ledger")
    queries = DeferredModule("facade.queries")
    visibility = DeferredModule("facade.visibility")


class WorldContacts(KnownNames):
    """Contacts of the last step, queries of the present, and ignored pairs."""

    def _whole(self) -> World:
        return cast("World", self)

    def add_ground_plane(
        self,
        height: float = 0.0,
        *,
        friction: float = shapes.FRICTION,
        restitution: float = shapes.RESTITUTION,
    ) -> str:
        """A plane across the whole world at z = height [m], solid below; returns its name.

        It belongs to no body: in contacts it is None.

        Args:
            height: [m].
            friction: coefficient of dry friction; pairs use the geometric mean.
            restitution: share of the closing speed that returns, 0 to 1; pairs use the larger.
        """
        return shapes.add_ground_plane(self._whole(), height, friction, restitution)

    # ---- the last step

    @property
    def contacts(self) -> list[Contact]:
        """Contacts of the last step that overlapped or pushed, with their forces.

        Points are those at the beginning of that step, which its forces were solved at. Empty before the
        first step, and after `reset`, an edit or a keyframe. After a replay frame was restored they are
        those of the step that made the frame.
        """
        return contacts.last_contacts(self._whole())

    def get_last_contact_forces(self) -> list[ContactForce]:
        """Forces and impulses of the contacts of the last step, in the order of `contacts`."""
        return contacts.last_contact_forces(self._whole())

    @property
    def break_events(self) -> list[BreakEvent]:
        """Joints of the World and equality constraints that are broken, in the order in which they broke.

        Those that were mended are not in it. `step_report().broken` has the names of the last step. What
        broke before the World was last edited or loaded has frame 0 and no force.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World()
            >>> body = world.add_rigid_body("lamp", mass=2.0, inertia=(0.1, 0.1, 0.1))
            >>> hook = world.add_joint(body, sx.JointSpec("hook", type=sx.JointType.SPHERICAL))
            >>> hook.break_force = 10.0
            >>> world.step()
            >>> [(event.name, event.frame) for event in world.break_events]
            [('hook', 1)]
        """
        return step_report.break_events(self._whole())

    @property
    def contact_events(self) -> list[ContactEvent]:
        """Pairs of bodies that began to touch, went on, or ceased to touch in the last call of steps.

        All steps of a `step(n)`, of a step job or of an executor count: BEGIN and END come in the order in
        which they happened, with the number and the time of their step. Then comes PERSIST for every pair
        that touched throughout. A body that is removed ends its contacts: those ENDs are in the list at
        once, and again at the head of the list of the next call, for programs that look after every step.

        The last 1,048,576 events of a call are kept. `step_report().dropped_contact_events` says how many
        older ones there were; it is 0 unless a call makes very many steps. No events are left after `reset`,
        a keyframe or a restored replay frame; pairs that touch in a restored frame go on.

        Example:
            >>> from worldline import simulation as sx
            >>> from worldline.collision import CollisionShape
            >>> world = sx.World()
            >>> ground = world.add_ground_plane(restitution=0.8)
            >>> ball = world.add_rigid_body("ball", position=(0, 0, 0.15))
            >>> ball.add_collision_shape(CollisionShape.sphere(0.1))
            >>> world.step(n=200)
            >>> [(event.kind.value, event.body_b.name) for event in world.contact_events]
            [('begin', 'ball'), ('end', 'ball')]
        """
        return step_report.contact_events(self._whole())

    def step_report(self) -> StepReport:
        """What the last step did: convergence, limits, what was cut, contacts by pair; `print` shows it.

        Example:
            >>> from worldline import simulation as sx
            >>> from worldline.collision import CollisionShape
            >>> world = sx.World()
            >>> ground = world.add_ground_plane()
            >>> ball = world.add_rigid_body("ball", position=(0, 0, 0.1))
            >>> ball.add_collision_shape(CollisionShape.sphere(0.1))
            >>> world.step(n=10)
            >>> report = world.step_report()
            >>> report.converged, report.contacts, report.pairs[0].body_b is ball
            (True, 1, True)
        """
        return step_report.step_report(self._whole())

    def energy_ledger(self) -> EnergyLedger:
        """Where the kinetic energy of the last step came from and went to, by cause [J].

        For the semi-implicit families. Costs several times a step when asked for, nothing otherwise.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World()
            >>> stone = world.add_rigid_body("stone", mass=2.0, linear_velocity=(0, 0, 5))
            >>> world.step()
            >>> ledger = world.energy_ledger()
            >>> round(ledger.gravity, 6), ledger.contact, abs(ledger.unexplained) < 1e-12
            (-0.098004, 0.0, True)
        """
        return ledger.energy_ledger(self._whole())

    def explain(self, a: BodyLike, b: BodyLike) -> Explanation:
        """Why two bodies do or do not touch; None is the world with its fixed shapes.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World()
            >>> a, b = world.add_rigid_body("a"), world.add_rigid_body("b")
            >>> print(world.explain(a, b))
            no shapes: 'a' has no collision shapes
        """
        return explain.explain(self._whole(), a, b)

    # ---- queries of the present

    @property
    def collision(self) -> CollisionQueries:
        """Queries that say themselves whether to look for what was written since; see `CollisionQueries`."""
        return queries.CollisionQueries(self._whole())

    @property
    def visibility(self) -> VisibilityQueries:
        """Which bodies a camera sees; see `VisibilityQueries`."""
        return visibility.VisibilityQueries(self._whole())

    def collide(
        self,
        options: CollisionOption | CollisionQueryOptions | None = None,
        *,
        include: CollisionQueryOptions | None = None,
    ) -> list[Contact]:
        """Where bodies touch now; nothing is solved and nothing changes.

        These are the contacts that push in a step: shapes closer than their margins less their gaps, with a
        negative depth where they are still apart, and pairs with parameters of their own whatever the other
        filters say. Pairs that a step leaves out are left out: shapes of one body, bodies and what their
        joint stands on, ignored pairs.

        Args:
            options: margin, largest number of contacts, see `worldline.collision.CollisionOption`; or a
                `CollisionQueryOptions`, the same as `include`.
            include: which pairs to tell, of those found; all when None.

        Example:
            >>> from worldline import simulation as sx
            >>> from worldline.collision import CollisionShape
            >>> world = sx.World()
            >>> a = world.add_rigid_body("a")
            >>> b = world.add_rigid_body("b", position=(1.5, 0, 0))
            >>> for ball in (a, b):
            ...     ball.add_collision_shape(CollisionShape.sphere(1.0))
            >>> contact, = world.collide()
            >>> contact.body_a is a, contact.normal.tolist(), contact.depth
            (True, [1.0, 0.0, 0.0], 0.5)
            >>> b.translation = (3, 0, 0)
            >>> world.collide(), world.distance(a, b).distance
            ([], 1.0)
        """
        return queries.collide(self._whole(), options, include=include)

    def distance(self, a: BodyLike, b: BodyLike) -> BodyDistance:
        """Signed distance and closest points of two bodies now; None is the world with its fixed shapes.

        Ignored pairs have a distance too.
        """
        return queries.distance(self._whole(), a, b)

    def raycast(self, start: VectorLike, end: VectorLike) -> RayHits:
        """The nearest hit of a ray, or of many at once, now.

        Args:
            start: where the rays begin, world [m], (3,) or (n, 3).
            end: where they end, the same shape, or (3,) for all.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World()
            >>> ground = world.add_ground_plane()
            >>> hit = world.raycast((0, 0, 2), (0, 0, -2))[0]
            >>> hit.fraction, hit.point.tolist(), hit.body
            (0.5, [0.0, 0.0, 0.0], None)
        """
        return queries.raycast(self._whole(), start, end)

    def overlap(
        self, shape: CollisionShape, pose: TransformLike | None = None
    ) -> list[RigidBody | Link | None]:
        """Bodies that a shape at a pose (4x4, the origin when None) overlaps now; None is the world's own."""
        return queries.overlap(self._whole(), shape, pose)

    def closest_point(self, point: VectorLike) -> BodyPoint:
        """The point on the surface of any body, the world's own shapes included, closest to a point now.

        Args:
            point: world [m], (3,).

        Example:
            >>> from worldline import simulation as sx
            >>> from worldline.collision import CollisionShape
            >>> world = sx.World()
            >>> ball = world.add_rigid_body("ball", position=(2, 0, 0))
            >>> ball.add_collision_shape(CollisionShape.sphere(0.5))
            >>> found = world.closest_point((0, 0, 0))
            >>> found.body is ball, found.point.round(6).tolist(), round(found.distance, 6)
            (True, [1.5, 0.0, 0.0], 1.5)
        """
        return queries.closest_point(self._whole(), point)

    # ---- pairs that never touch

    def set_collision_pair_ignored(self, first: BodyLike, second: BodyLike, ignored: bool = True) -> None:
        """Let two bodies pass through each other, or no longer; None is the world with its fixed shapes.

        Possible at any time; the order does not matter.
        """
        world = self._whole()
        world._require_idle()
        if not isinstance(ignored, bool):
            raise values.ShapeError(f"ignored must be True or False, got {ignored!r}")
        pair = self._pair(first, second)
        rows = world._scene.collision_ignores.link_pairs
        kept = [row for row in rows if set(row) != set(pair)]
        if ignored == (len(kept) < len(rows)):
            return
        world._scene.collision_ignores.link_pairs = [*kept, pair] if ignored else kept
        world._topology_changed()

    def is_collision_pair_ignored(self, first: BodyLike, second: BodyLike) -> bool:
        """Whether two bodies are set to pass through each other."""
        pair = set(self._pair(first, second))
        return any(set(row) == pair for row in self._whole()._scene.collision_ignores.link_pairs)

    def clear_ignored_collision_pairs(self) -> None:
        """Ignore no pairs."""
        world = self._whole()
        world._require_idle()
        if world._scene.collision_ignores.link_pairs:
            world._scene.collision_ignores.link_pairs = []
            world._topology_changed()

    @property
    def num_ignored_collision_pairs(self) -> int:
        """How many pairs are ignored."""
        return len(self._whole()._scene.collision_ignores.link_pairs)

    def _pair(self, first: BodyLike, second: BodyLike) -> list[str]:
        """The names of two bodies in the description."""
        names = []
        for body, what in ((first, "first"), (second, "second")):
            queries.body_index(self._whole(), body, what)
            names.append(body._link.name if isinstance(body, (RigidBody, Link)) else "world")
        if names[0] == names[1]:
            raise ArgumentError(f"a pair needs two different bodies, got '{names[0]}' twice")
        return names
