// Tasks as a picture: from left to right, what waits for what. Each task is a link, so the keyboard reaches all of them.
import clsx from "clsx";
import { Inline } from "../content/Inline";
import { visible } from "../content/visible";
import { t } from "../texts/jobs";
import { JobStatusMark } from "./JobStatusMark";
import { type JobWaits, type Task, taskStatus } from "./jobs";
import { layout, type Placed } from "./layout";

const WIDTH = 168;
const HEIGHT = 52;
const GAP_X = 44;
const GAP_Y = 14;

interface Props {
  tasks: readonly Task[];
  chosen: string | null;
  href: (taskId: string) => string;
  /** The tasks that wait for a person. */
  waits?: JobWaits["tasks"] | undefined;
}

export function TaskGraph({ tasks, chosen, href, waits }: Props) {
  const { nodes, edges, columns, rows } = layout(tasks);
  const place = new Map(nodes.map((node) => [node.id, node]));
  const task = new Map(tasks.map((one) => [one.id, one]));
  const width = columns * (WIDTH + GAP_X) - GAP_X;
  const height = rows * (HEIGHT + GAP_Y) - GAP_Y;
  return (
    <nav aria-label={t.graph} tabIndex={0} className="overflow-auto rounded-2xl border border-line bg-sunken/40 p-4">
      <div className="relative" style={{ width, height }}>
        <svg aria-hidden width={width} height={height} className="absolute inset-0 text-line-strong">
          {edges.map(([from, to]) => (
            <path
              key={`${from} ${to}`}
              d={curve(place.get(from)!, place.get(to)!)}
              fill="none"
              stroke="currentColor"
              strokeWidth={1.5}
            />
          ))}
        </svg>
        {nodes.map((node) => (
          <TaskLink
            key={node.id}
            node={node}
            task={task.get(node.id)!}
            chosen={node.id === chosen}
            waits={waits?.has(node.id) ?? false}
            href={href(node.id)}
          />
        ))}
      </div>
    </nav>
  );
}

interface TaskLinkProps {
  node: Placed;
  task: Task;
  chosen: boolean;
  href: string;
  waits: boolean;
}

function TaskLink({ node, task, chosen, href, waits }: TaskLinkProps) {
  return (
    <a
      href={href}
      aria-current={chosen ? "true" : undefined}
      title={visible(task.description)}
      style={{ left: left(node), top: top(node), width: WIDTH, height: HEIGHT }}
      className={clsx(
        "absolute flex items-center gap-2 rounded-xl border bg-surface px-3 text-sm hover:border-ink-3",
        chosen ? "border-ink-2 ring-1 ring-ink-2" : "border-line-strong/70",
      )}
    >
      <JobStatusMark status={taskStatus(task, waits)} brief />
      <span dir="auto" className="line-clamp-2 min-w-0 leading-tight break-words">
        <Inline text={task.description} />
      </span>
    </a>
  );
}

const left = ({ column }: Placed) => column * (WIDTH + GAP_X);
const top = ({ row }: Placed) => row * (HEIGHT + GAP_Y);

function curve(from: Placed, to: Placed): string {
  const [x1, y1, x2, y2] = [left(from) + WIDTH, top(from) + HEIGHT / 2, left(to), top(to) + HEIGHT / 2];
  const middle = (x1 + x2) / 2;
  return `M${x1},${y1} C${middle},${y1} ${middle},${y2} ${x2},${y2}`;
}
