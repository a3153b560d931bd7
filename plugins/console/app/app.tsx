import {
  ArrowLeftRight,
  Bell,
  Boxes,
  ChartColumn,
  CircleCheck,
  ClipboardCheck,
  Cloud,
  Fingerprint,
  FlaskConical,
  History,
  House,
  KeyRound,
  LayoutDashboard,
  MessagesSquare,
  Plug,
  Route,
  ScrollText,
  Server,
  Settings,
  Shield,
  SquareTerminal,
  User,
  UserCog,
  Users,
  Wrench,
} from 'lucide'
import { render } from 'preact'
import { useEffect } from 'preact/hooks'
import { readSession } from './lib/api.ts'
import { isDisconnected } from './lib/connection.ts'
import { useAction, useInterval } from './lib/data.ts'
import { pendingCount, readPendingApprovals } from './lib/pending-approvals.ts'
import { href, route } from './lib/router.ts'
import {
  announceSignIn,
  canReadPastRules,
  endSession,
  hasSessionEnded,
  isOperator,
  seesEverything,
  session,
  signedInPerson,
  signInOptions,
  startSession,
} from './lib/session.ts'
import { AccessPage } from './pages/access.tsx'
import { AlertsPage } from './pages/alerts.tsx'
import { ApprovalPages } from './pages/approvals.tsx'
import { AuditPage } from './pages/audit.tsx'
import { EvidencePage } from './pages/evidence.tsx'
import { HomePage } from './pages/home.tsx'
import { KeyPages } from './pages/keys.tsx'
import { ModelPages } from './pages/models.tsx'
import { NodesPage } from './pages/nodes.tsx'
import { OverviewPage } from './pages/overview.tsx'
import { PlaygroundPage } from './pages/playground.tsx'
import { ProviderPages } from './pages/providers.tsx'
import { RequestsPage } from './pages/requests.tsx'
import { GroupPages, OperatorPages, PolicyPages, UserPages } from './pages/resources.tsx'
import { RoutingPage } from './pages/routing.tsx'
import { OwnRulesPage } from './pages/rule-editor.tsx'
import { SessionPages } from './pages/sessions.tsx'
import { SettingsPage } from './pages/settings.tsx'
import { SignIn, SignInAgain } from './pages/sign-in.tsx'
import { SimulatorPage } from './pages/simulator.tsx'
import { TimeTravelPage } from './pages/time-travel.tsx'
import { ToolCallPages } from './pages/tool-calls.tsx'
import { ToolServerPages } from './pages/tool-servers.tsx'
import { UsagePage } from './pages/usage.tsx'
import { type PageGroup, Shell } from './shell.tsx'
import { Empty, ErrorMessage, Loading, PageLayout } from './ui/page.tsx'

const forAll = () => true
const forUsers = () => !isOperator()

const groups: readonly PageGroup[] = [
  {
    title: '',
    pages: [
      {
        path: 'overview',
        title: 'Overview',
        icon: LayoutDashboard,
        content: OverviewPage,
        isFor: isOperator,
      },
      { path: 'home', title: 'Home', icon: House, content: HomePage, isFor: forUsers },
      {
        path: 'playground',
        title: 'Playground',
        icon: SquareTerminal,
        content: PlaygroundPage,
        isFor: forAll,
      },
    ],
  },
  {
    title: 'Observe',
    pages: [
      { path: 'requests', title: 'Requests', icon: ArrowLeftRight, content: RequestsPage, isFor: forAll },
      { path: 'sessions', title: 'Sessions', icon: MessagesSquare, content: SessionPages, isFor: forAll },
      { path: 'tool-calls', title: 'Tool calls', icon: Wrench, content: ToolCallPages, isFor: forAll },
      { path: 'usage', title: 'Usage', icon: ChartColumn, content: UsagePage, isFor: forAll },
      { path: 'alerts', title: 'Alerts', icon: Bell, content: AlertsPage, isFor: seesEverything },
    ],
  },
  {
    title: 'Govern',
    pages: [
      { path: 'policies', title: 'Policies', icon: Shield, content: PolicyPages, isFor: isOperator },
      { path: 'rules', title: 'My rules', icon: Shield, content: OwnRulesPage, isFor: forUsers },
      {
        path: 'approvals',
        title: 'Approvals',
        icon: CircleCheck,
        content: ApprovalPages,
        isFor: forAll,
        note: PendingBadge,
      },
      { path: 'simulator', title: 'Simulator', icon: FlaskConical, content: SimulatorPage, isFor: forAll },
      { path: 'time', title: 'Time travel', icon: History, content: TimeTravelPage, isFor: canReadPastRules },
      { path: 'audit', title: 'Audit', icon: ScrollText, content: AuditPage, isFor: forAll },
      {
        path: 'evidence',
        title: 'Evidence',
        icon: Fingerprint,
        content: EvidencePage,
        isFor: seesEverything,
      },
    ],
  },
  {
    title: 'Serve',
    pages: [
      { path: 'models', title: 'Models', icon: Boxes, content: ModelPages, isFor: isOperator },
      { path: 'providers', title: 'Providers', icon: Cloud, content: ProviderPages, isFor: seesEverything },
      { path: 'nodes', title: 'Nodes', icon: Server, content: NodesPage, isFor: seesEverything },
      { path: 'routing', title: 'Routing', icon: Route, content: RoutingPage, isFor: seesEverything },
      {
        path: 'tool-servers',
        title: 'Tool servers',
        icon: Plug,
        content: ToolServerPages,
        isFor: seesEverything,
      },
      { path: 'settings', title: 'Settings', icon: Settings, content: SettingsPage, isFor: seesEverything },
    ],
  },
  {
    title: 'Access',
    pages: [
      { path: 'users', title: 'Users', icon: User, content: UserPages, isFor: isOperator },
      { path: 'keys', title: 'Keys', icon: KeyRound, content: KeyPages, isFor: isOperator },
      { path: 'groups', title: 'Groups', icon: Users, content: GroupPages, isFor: isOperator },
      { path: 'operators', title: 'Operators', icon: UserCog, content: OperatorPages, isFor: seesEverything },
      {
        path: 'access',
        title: 'Access review',
        icon: ClipboardCheck,
        content: AccessPage,
        isFor: seesEverything,
      },
    ],
  },
]

/** The console: the sign-in, or the navigation with the page that the address names. */
function App() {
  const load = useAction(async () => {
    const current = await readSession()
    signInOptions.value = current.sign_in
    if (current.data === null) return endSession()
    startSession(current.data)
    announceSignIn()
  })
  useEffect(load.start, [])

  if (load.error) return <ErrorMessage error={load.error} retry={load.start} />
  if (session.value === undefined) return <Loading />
  if (session.value === null) return <SignIn />
  return (
    <>
      <Shell key={signedInPerson()} groups={groups} current={currentPath()}>
        <CurrentPage />
      </Shell>
      <p class="connection" role="status">
        {isDisconnected.value && 'The gateway does not respond. The page goes on once it does.'}
      </p>
      {hasSessionEnded.value && <SignInAgain />}
    </>
  )
}

const startPage = () => (isOperator() ? 'overview' : 'home')

const currentPath = () => route.value.path[0] ?? startPage()

function CurrentPage() {
  const { path } = route.value
  const rest = path.slice(1)
  const page = groups.flatMap(({ pages }) => pages).find((candidate) => candidate.path === currentPath())
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
