// Where each task of a job stands in the picture: a column per length of the longest chain before it. Pure, linear in tasks and edges.

export interface Node {
  id: string;
  dependencies: readonly string[];
}

export interface Placed {
  id: string;
  column: number;
  row: number;
}

interface Layout {
  nodes: readonly Placed[];
  edges: readonly (readonly [from: string, to: string])[];
  columns: number;
  rows: number;
}

/** Tasks keep the plan's order within a column. What depends on something unknown, or on itself, stands as if it did not. */
export function layout(tasks: readonly Node[]): Layout {
  const known = new Map(tasks.map((task) => [task.id, task]));
  const edges = tasks.flatMap(({ id, dependencies }) =>
    [...new Set(dependencies)].filter((on) => on !== id && known.has(on)).map((on) => [on, id] as const),
  );
  const depth = depths(tasks, edges);
  const filled: number[] = [];
  const nodes = tasks.map(({ id }) => {
    const column = depth.get(id) ?? 0;
    const row = filled[column] ?? 0;
    filled[column] = row + 1;
    return { id, column, row };
  });
  return { nodes, edges, columns: filled.length, rows: Math.max(0, ...Object.values(filled)) };
}

function depths(tasks: readonly Node[], edges: Layout["edges"]): Map<string, number> {
  const depth = new Map(tasks.map(({ id }) => [id, 0]));
  const open = new Map(tasks.map(({ id }) => [id, 0]));
  const next = new Map<string, string[]>();
  for (const [from, to] of edges) {
    open.set(to, (open.get(to) ?? 0) + 1);
    const after = next.get(from);
    if (after) after.push(to);
    else next.set(from, [to]);
  }
  const ready = tasks.filter(({ id }) => open.get(id) === 0).map(({ id }) => id);
  for (let id = ready.pop(); id !== undefined; id = ready.pop()) {
    for (const to of next.get(id) ?? []) {
      depth.set(to, Math.max(depth.get(to) ?? 0, (depth.get(id) ?? 0) + 1));
      open.set(to, (open.get(to) ?? 1) - 1);
      if (open.get(to) === 0) ready.push(to);
    }
  }
  return depth;
}
