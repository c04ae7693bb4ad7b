import fc from "fast-check";
import { expect, it } from "vitest";
import { layout } from "./layout";

it("places each task after all it waits for, and no two on one spot", () => {
  const graph = fc.integer({ min: 1, max: 40 }).chain((count) =>
    fc.tuple(
      ...Array.from({ length: count }, (_, at) =>
        fc.record({
          id: fc.constant(`t${at}`),
          dependencies: fc.array(fc.integer({ min: 0, max: count }).map((on) => (on < at ? `t${on}` : "unknown"))),
        }),
      ),
    ),
  );
  fc.assert(
    fc.property(graph, (tasks) => {
      const { nodes, edges, columns, rows } = layout(tasks);
      const place = new Map(nodes.map((node) => [node.id, node]));
      expect(nodes).toHaveLength(tasks.length);
      expect(new Set(nodes.map(({ column, row }) => `${column} ${row}`)).size).toBe(tasks.length);
      for (const [from, to] of edges) expect(place.get(from)!.column).toBeLessThan(place.get(to)!.column);
      for (const { column, row } of nodes) expect(column < columns && row < rows).toBe(true);
    }),
  );
});

it("still shows tasks that wait for each other", () => {
  const { nodes } = layout([
    { id: "a", dependencies: ["b"] },
    { id: "b", dependencies: ["a"] },
  ]);
  expect(nodes).toHaveLength(2);
});

it("draws ten thousand tasks of one chain", () => {
  const tasks = Array.from({ length: 10_000 }, (_, at) => ({
    id: String(at),
    dependencies: at ? [String(at - 1)] : [],
  }));
  expect(layout(tasks).columns).toBe(10_000);
});
