import type { ComponentType } from 'preact'
import type { PageProps } from '../lib/router.ts'
import { canReadPastRules } from '../lib/session.ts'
import { AuditPage } from './audit.tsx'
import { GroupsPage } from './groups.tsx'
import { OperatorsPage } from './operators.tsx'
import { OverviewPage } from './overview.tsx'
import { OwnRulesPage } from './own-rules.tsx'
import { PoliciesPage } from './policies.tsx'
import { RequestsPage } from './requests.tsx'
import { RoutingPage } from './routing.tsx'
import { SimulatorPage } from './simulator.tsx'
import { TimeTravelPage } from './time-travel.tsx'
import { UsagePage } from './usage.tsx'
import { UsersPage } from './users.tsx'

interface ConsolePage {
  /** First segment of the address. */
  readonly path: string
  /** In the navigation. */
  readonly title?: string
  readonly content: ComponentType<PageProps>
  isFor(isOperator: boolean): boolean
}

const forOperators = (isOperator: boolean) => isOperator
const forUsers = (isOperator: boolean) => !isOperator
const forAll = () => true
const forRuleOwners = () => canReadPastRules()

export const pages: readonly ConsolePage[] = [
  { path: 'overview', title: 'Overview', content: OverviewPage, isFor: forOperators },
  { path: 'policies', title: 'Policies', content: PoliciesPage, isFor: forOperators },
  { path: 'rules', title: 'My rules', content: OwnRulesPage, isFor: forUsers },
  { path: 'audit', title: 'Audit', content: AuditPage, isFor: forAll },
  { path: 'time', title: 'Time travel', content: TimeTravelPage, isFor: forRuleOwners },
  { path: 'requests', title: 'Requests', content: RequestsPage, isFor: forAll },
  { path: 'usage', title: 'Usage', content: UsagePage, isFor: forAll },
  { path: 'routing', title: 'Routing', content: RoutingPage, isFor: forOperators },
  { path: 'simulator', title: 'Simulator', content: SimulatorPage, isFor: forAll },
  { path: 'users', title: 'Users', content: UsersPage, isFor: forOperators },
  { path: 'groups', title: 'Groups', content: GroupsPage, isFor: forOperators },
  { path: 'operators', title: 'Operators', content: OperatorsPage, isFor: forOperators },
]
