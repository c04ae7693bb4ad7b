import { t } from "../texts/composer";
import { Dialog } from "../ui/Dialog";
import { COMMANDS } from "./inputSyntax";

/** What can be typed besides words. */
export default function CommandHelp({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title={t.help} open onClose={onClose}>
      {/* it may be longer than the window: focused, the keys scroll it */}
      <div tabIndex={0} role="group" aria-label={t.help}>
        <Entries of={COMMANDS.map((name) => [`/${name}`, t.commands[name]])} />
        <h3 className="mt-5 mb-1 text-sm font-semibold">{t.helpMentions}</h3>
        <Entries of={t.mentionForms} />
        <p className="mt-4 text-sm text-ink-2">{t.helpMore}</p>
      </div>
    </Dialog>
  );
}

function Entries({ of }: { of: readonly (readonly [typed: string, about: string])[] }) {
  return (
    <dl className="divide-y divide-line text-sm">
      {of.map(([typed, about]) => (
        <div key={typed} className="flex flex-wrap items-baseline gap-x-4 py-2">
          <dt className="w-44 shrink-0">
            <code className="font-mono text-[13px]">{typed}</code>
          </dt>
          <dd className="min-w-0 flex-1 basis-40 text-ink-2">{about}</dd>
        </div>
      ))}
    </dl>
  );
}
