// The settings: one page each, with its own address. pages.tsx says which there are.

import clsx from "clsx";
import { useEffect, useLayoutEffect, useRef } from "react";
import { useMe } from "../state/me";
import { t as people } from "../texts/people";
import { t } from "../texts/settings";
import { Outcomes } from "../ui/Outcomes";
import { SidebarButton } from "../ui/SidebarButton";
import { WhenLoaded } from "../ui/WhenLoaded";
import { pageAt, pagesFor } from "./pages";

export default function SettingsPage({ part, onSidebar }: { part: string | null; onSidebar: () => void }) {
  const me = useMe();
  const pages = pagesFor(me.may("manage"));
  const page = pageAt(part, pages);
  useEffect(() => {
    document.getElementById("settings-page")?.scrollTo?.(0, 0); // newer browsers return a promise, which is no clean-up
  }, [page]);
  return (
    <main className="flex h-full min-w-0 flex-1 flex-col">
      <header className="flex h-14 shrink-0 items-center gap-2 border-b border-line bg-paper px-2 sm:px-4">
        <SidebarButton onClick={onSidebar} />
        <h1 className="text-[15px] font-semibold">{t.settings}</h1>
      </header>
      <div className="flex min-h-0 flex-1 flex-col md:flex-row">
        <Pages pages={pages} current={page.id} />
        {/* reached by key: a page may have nothing else to focus, and still be longer than the window */}
        <div id="settings-page" tabIndex={0} className="min-h-0 min-w-0 flex-1 overflow-y-auto -outline-offset-2">
          <div className="mx-auto w-full max-w-2xl space-y-10 px-4 pt-5 pb-16 sm:px-6">
            {!me.owner && (
              <p className="rounded-xl bg-sunken px-4 py-3 text-sm text-ink-2">
                {people.youAre(me.name, people.levels[me.access])}. {!me.may("manage") && people.settingsForAdmins}
              </p>
            )}
            <Outcomes page />
            <WhenLoaded key={page.id} className="space-y-10">
              {page.sections.map(({ title, about, Content }) => (
                <section key={title} aria-label={title}>
                  <h2 className="font-semibold">{title}</h2>
                  <p className="mb-4 text-sm text-ink-2">{about}</p>
                  <Content />
                  <Outcomes className="mt-3" />
                </section>
              ))}
            </WhenLoaded>
          </div>
        </div>
      </div>
    </main>
  );
}

/** Beside the page, or above it at phone width. */
function Pages({ pages, current }: { pages: ReturnType<typeof pagesFor>; current: string }) {
  const nav = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    const link = nav.current?.querySelector("[aria-current]");
    link?.scrollIntoView?.({ block: "nearest", inline: "center" }); // at phone width most of them are out of sight
  }, [current]);
  return (
    <nav
      ref={nav}
      aria-label={t.partsOfTheSettings}
      className="flex shrink-0 gap-1 overflow-x-auto border-line p-2 max-md:border-b md:w-max md:min-w-52 md:flex-col md:overflow-y-auto md:border-r md:p-3"
    >
      {pages.map(({ id, title, Icon }) => (
        <a
          key={id}
          href={`#/settings/${id}`}
          aria-current={id === current ? "page" : undefined}
          className={clsx(
            "inline-flex min-h-9 shrink-0 items-center gap-2 rounded-lg px-2.5 text-sm whitespace-nowrap outline-offset-[-2px] thumb:min-h-11",
            id === current ? "bg-sunken font-medium text-ink" : "text-ink-2 hover:bg-sunken hover:text-ink",
          )}
        >
          <Icon size={15} aria-hidden className="shrink-0 text-ink-3" /> {title}
        </a>
      ))}
    </nav>
  );
}
