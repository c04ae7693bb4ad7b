// The schedules: when each starts next, how its last run ended, and what can be done with it.

import { CalendarClock, Play } from "lucide-react";
import { useState } from "react";
import { dayAndTime } from "../texts/language";
import { t } from "../texts/schedules";
import { Button, IconButton } from "../ui/Button";
import { attempt, say } from "../ui/outcomes";
import { api, given } from "../wire/client";
import { cronWords } from "./cronWords";
import { Editing, Listed, useAgain } from "./StartList";
import { StartRow } from "./StartRow";
import { SCHEDULES, type Schedule, useSchedules } from "./startables";

const CHANGE = "PATCH /schedules/{schedule_id}";
const REMOVE = "DELETE /schedules/{schedule_id}";

export function Schedules() {
  const { data: schedules } = useSchedules();
  const [edited, setEdited] = useState<Schedule | "new" | null>(null);
  const again = useAgain(SCHEDULES);
  const at = ({ id }: Schedule) => ({ params: { path: { schedule_id: id } } });
  const change = (item: Schedule, body: object) =>
    again(given(api.PATCH("/schedules/{schedule_id}", { ...at(item), body: body as never })));
  const run = async (item: Schedule) => {
    if (await attempt(again(given(api.POST("/schedules/{schedule_id}/run", at(item)))))) say(t.started(item.name));
  };
  const save = (body: object) =>
    edited === "new" || edited === null
      ? again(given(api.POST("/schedules", { body: body as never })))
      : change(edited, body);
  return (
    <div className="space-y-3">
      <Listed items={schedules} label={t.schedules} none={t.noSchedules}>
        {(item) => (
          <StartRow
            key={item.id}
            item={item}
            when={whenOf(item)}
            changing={CHANGE}
            removing={REMOVE}
            onEnable={(enabled) => void attempt(change(item, { enabled }))}
            onEdit={() => setEdited(item)}
            onRemove={() => void attempt(again(given(api.DELETE("/schedules/{schedule_id}", at(item)))))}
          >
            <IconButton
              needs="POST /schedules/{schedule_id}/run"
              label={t.runNow(item.name)}
              onClick={() => void run(item)}
            >
              <Play size={15} aria-hidden />
            </IconButton>
          </StartRow>
        )}
      </Listed>
      <Button needs="POST /schedules" icon={<CalendarClock size={15} aria-hidden />} onClick={() => setEdited("new")}>
        {t.addSchedule}
      </Button>
      <Editing edited={edited} trigger={false} onSave={save} onDone={() => setEdited(null)} />
    </div>
  );
}

function whenOf({ cron, at, time_zone, next_at }: Schedule): string {
  const words = cron && cronWords(cron);
  const times = `${words ? `${words} (${cron})` : (cron ?? at?.replace("T", " "))} ${time_zone}`;
  return next_at ? `${times} · ${t.next(dayAndTime(new Date(next_at)))}` : times;
}
