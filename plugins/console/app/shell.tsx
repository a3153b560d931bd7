import type { IconNode } from 'lucide'
import { Menu } from 'lucide'
import type { ComponentChildren, ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { GATEWAY, send } from './lib/api.ts'
import { forgetDrafts } from './lib/drafts.ts'
import { href, type PageProps, route } from './lib/router.ts'
import { endSession, session } from './lib/session.ts'
import { THEMES, type Theme, theme } from './lib/theme.ts'
import { Finder } from './ui/finder.tsx'
import { Icon } from './ui/icon.tsx'

export interface ConsolePage {
  /** First segment of the address. */
  readonly path: string
  /** In the navigation. */
  readonly title: string
  readonly icon: IconNode
  readonly content: ComponentType<PageProps>
  readonly isFor: () => boolean
  /** Behind the title. */
  readonly note?: ComponentType
}

/** Pages that the navigation shows below one heading. */
export interface PageGroup {
  readonly title: string
  readonly pages: readonly ConsolePage[]
}

interface ShellProps {
  readonly groups: readonly PageGroup[]
  /** The path of the page that is open. */
  readonly current: string
  readonly children: ComponentChildren
}

/** What surrounds all pages: the navigation, and who is signed in. */
export function Shell({ groups, current, children }: ShellProps) {
  const [isOpen, setOpen] = useState(false)
  // On a phone, the navigation covers the page until one is chosen.
  useEffect(() => setOpen(false), [route.value])
  return (
    <div class={isOpen ? 'shell open' : 'shell'}>
      <button type="button" class="skip" onClick={() => document.getElementById('main')?.focus()}>
        Skip to the content
      </button>
      <aside>
        <div class="spread">
          <a class="brand" href={href('/')}>
            <img src={new URL('./icon.svg', import.meta.url).href} alt="" width="24" height="24" /> Signalbox
          </a>
          <button type="button" class="menu" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            <Icon shapes={Menu} /> Menu
          </button>
        </div>
        <Finder pages={groups.flatMap(toEntries)} />
        <nav aria-label="Pages">
          {groups.map((group) => (
            <NavigationGroup key={group.title} group={group} current={current} />
          ))}
        </nav>
        <Account />
      </aside>
      <main id="main" tabIndex={-1}>
        {children}
      </main>
    </div>
  )
}

const toEntries = ({ title: note, pages }: PageGroup) =>
  pages
    .filter(({ isFor }) => isFor())
    .map(({ path, title }) => ({ kind: 'Page', name: title, note, href: href(`/${path}`) }))

function NavigationGroup({ group, current }: { readonly group: PageGroup; readonly current: string }) {
  const pages = group.pages.filter(({ isFor }) => isFor())
  if (pages.length === 0) return null
  return (
    <div class="nav-group">
      {group.title && <span class="heading">{group.title}</span>}
      {pages.map(({ path, title, icon, note: Note }) => (
        <a key={path} href={href(`/${path}`)} aria-current={path === current ? 'page' : undefined}>
          <Icon shapes={icon} /> {title}
          {Note && <Note />}
        </a>
      ))}
    </div>
  )
}

const THEME_NAMES: Readonly<Record<Theme, string>> = {
  system: 'System theme',
  light: 'Light theme',
  dark: 'Dark theme',
}

function Account() {
  const current = session.value
  return (
    <div class="account">
      <span>
        {current?.name} <small class="muted">{current?.role ?? current?.plan}</small>
      </span>
      <label class="theme">
        <span class="hidden">Theme</span>
        <select
          value={theme.value}
          onChange={({ currentTarget }) => {
            theme.value = currentTarget.value as Theme
          }}
        >
          {THEMES.map((name) => (
            <option key={name} value={name} selected={name === theme.value}>
              {THEME_NAMES[name]}
            </option>
          ))}
        </select>
      </label>
      <button type="button" class="quiet" onClick={() => signOut().catch(() => undefined)}>
        Sign out
      </button>
    </div>
  )
}

async function signOut(): Promise<void> {
  if (session.value?.external) {
    forgetDrafts()
    // The gateway leads to the identity provider, which ends its own session.
    location.assign(new URL('console/logout', GATEWAY))
    return
  }
  await send('DELETE', `/console/session?path=${encodeURIComponent(GATEWAY.pathname)}`)
  forgetDrafts()
  endSession()
}
