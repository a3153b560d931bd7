import { type ComponentChildren, type ComponentType, render } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { GATEWAY, send } from './lib/api.ts'
import { useAction, useInterval } from './lib/data.ts'
import { forgetDrafts } from './lib/drafts.ts'
import { pendingCount, readPendingApprovals } from './lib/pending-approvals.ts'
import { href, type PageProps, route } from './lib/router.ts'
import type { CurrentConsoleSession } from './lib/schemas.ts'
import { canReadPastRules, isOperator, seesEverything, session, signInOptions } from './lib/session.ts'
import { chooseTheme, THEMES, type Theme, theme } from './lib/theme.ts'
import { AlertsPage } from './pages/alerts.tsx'
import { ApprovalPages } from './pages/approvals.tsx'
import { AuditPage } from './pages/audit.tsx'
import { OverviewPage } from './pages/overview.tsx'
import { RequestsPage } from './pages/requests.tsx'
import { GroupPages, OperatorPages, PolicyPages, UserPages } from './pages/resources.tsx'
import { RoutingPage } from './pages/routing.tsx'
import { OwnRulesPage } from './pages/rule-editor.tsx'
import { SessionPages } from './pages/sessions.tsx'
import { SignIn } from './pages/sign-in.tsx'
import { SimulatorPage } from './pages/simulator.tsx'
import { TimeTravelPage } from './pages/time-travel.tsx'
import { ToolCallPages } from './pages/tool-calls.tsx'
import { ToolServerPages } from './pages/tool-servers.tsx'
import { UsagePage } from './pages/usage.tsx'
import { Empty, ErrorMessage, Loading, PageLayout } from './ui/page.tsx'

interface ConsolePage {
  /** First segment of the address. */
  readonly path: string
  /** In the navigation. */
  readonly title: string
  readonly content: ComponentType<PageProps>
  readonly isFor: () => boolean
  /** Behind the title. */
  readonly note?: ComponentType
}

const forAll = () => true
const forUsers = () => !isOperator()

const pages: readonly ConsolePage[] = [
  { path: 'overview', title: 'Overview', content: OverviewPage, isFor: isOperator },
  { path: 'policies', title: 'Policies', content: PolicyPages, isFor: isOperator },
  { path: 'rules', title: 'My rules', content: OwnRulesPage, isFor: forUsers },
  { path: 'audit', title: 'Audit', content: AuditPage, isFor: forAll },
  { path: 'time', title: 'Time travel', content: TimeTravelPage, isFor: canReadPastRules },
  { path: 'requests', title: 'Requests', content: RequestsPage, isFor: forAll },
  { path: 'usage', title: 'Usage', content: UsagePage, isFor: forAll },
  { path: 'routing', title: 'Routing', content: RoutingPage, isFor: seesEverything },
  { path: 'tool-servers', title: 'Tool servers', content: ToolServerPages, isFor: seesEverything },
  {
    path: 'approvals',
    title: 'Approvals',
    content: ApprovalPages,
    isFor: forAll,
    note: PendingBadge,
  },
  { path: 'sessions', title: 'Sessions', content: SessionPages, isFor: forAll },
  { path: 'tool-calls', title: 'Tool calls', content: ToolCallPages, isFor: forAll },
  { path: 'simulator', title: 'Simulator', content: SimulatorPage, isFor: forAll },
  { path: 'alerts', title: 'Alerts', content: AlertsPage, isFor: seesEverything },
  { path: 'users', title: 'Users', content: UserPages, isFor: isOperator },
  { path: 'groups', title: 'Groups', content: GroupPages, isFor: isOperator },
  { path: 'operators', title: 'Operators', content: OperatorPages, isFor: seesEverything },
]

/** The console: the sign-in, or the navigation with the page that the address names. */
function App() {
  const load = useAction(async () => {
    const current = await send<CurrentConsoleSession>('GET', '/console/session')
    signInOptions.value = current.sign_in
    session.value = current.data
  })
  useEffect(load.start, [])

  if (load.error) return <ErrorMessage error={load.error} retry={load.start} />
  if (session.value === undefined) return <Loading />
  if (session.value === null) return <SignIn />
  return (
    <Shell>
      <CurrentPage />
    </Shell>
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
  session.value = null
}

const startPage = () => (isOperator() ? 'overview' : 'requests')

function CurrentPage() {
  const { path } = route.value
  const [name = startPage(), ...rest] = path
  const page = pages.find((candidate) => candidate.path === name)
  if (!page?.isFor()) {
    return (
      <PageLayout title="Not found">
        <Empty>
          There is no such page for you. <a href={href('/')}>Go to the start.</a>
        </Empty>
      </PageLayout>
    )
  }
  const Content = page.content
  return <Content key={path.join('/')} path={rest} />
}

const THEME_NAMES: Readonly<Record<Theme, string>> = {
  system: 'System theme',
  light: 'Light theme',
  dark: 'Dark theme',
}

function Shell({ children }: { readonly children: ComponentChildren }) {
  const current = session.value
  const [first = startPage()] = route.value.path
  const nav = useRef<HTMLElement>(null)
  // On a phone, the pages are a line that scrolls.
  useEffect(() => {
    nav.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' })
  }, [first])
  return (
    <div class="shell">
      <button type="button" class="skip" onClick={() => document.getElementById('main')?.focus()}>
        Skip to the content
      </button>
      <aside>
        <a class="brand" href={href('/')}>
          <img src={new URL('./icon.svg', import.meta.url).href} alt="" width="24" height="24" /> Signalbox
        </a>
        <nav ref={nav} aria-label="Pages">
          {pages
            .filter(({ isFor }) => isFor())
            .map(({ path, title, note: Note }) => (
              <a key={path} href={href(`/${path}`)} aria-current={path === first ? 'page' : undefined}>
                {title}
                {Note && <Note />}
              </a>
            ))}
        </nav>
        <div class="account">
          <span>
            {current?.name} <small class="muted">{current?.role ?? current?.plan}</small>
          </span>
          <label class="theme">
            <span class="hidden">Theme</span>
            <select
              value={theme.value}
              onChange={({ currentTarget }) => chooseTheme(currentTarget.value as Theme)}
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
      </aside>
      <main id="main" tabIndex={-1}>
        {children}
      </main>
    </div>
  )
}

const PENDING_MS = 10_000

/** How many approvals wait. Those of users wait for somebody else. */
function PendingBadge() {
  useEffect(countPending, [])
  useInterval(PENDING_MS, countPending)
  if (pendingCount.value === '' || !isOperator()) return null
  return (
    <>
      {' '}
      <span class="badge warn">
        {pendingCount.value} <span class="hidden">pending</span>
      </span>
    </>
  )
}

function countPending(): void {
  if (isOperator()) readPendingApprovals().catch(() => undefined)
}

const root = document.getElementById('app')
if (root) render(<App />, root)
