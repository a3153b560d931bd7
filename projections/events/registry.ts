import { createEventRegistry, type EventOf } from '../../core/events/define-event.ts'
import { logEvents } from '../../core/events/log-events.ts'
import { accessEvents } from './access.ts'
import { approvalEvents } from './approvals.ts'
import { overallBudgetEvents } from './budgets.ts'
import { grantEvents } from './grants.ts'
import { groupEvents } from './groups.ts'
import { identityEvents } from './identities.ts'
import { operatorEvents } from './operators.ts'
import { policyEvents } from './policies.ts'
import { routerEvents } from './routers.ts'
import { ruleEvents } from './rules.ts'
import { pinnedToolEvents, toolServerEvents } from './tool-servers.ts'
import { userEvents } from './users.ts'

const declarations = [
  ...logEvents,
  ...userEvents,
  ...ruleEvents,
  ...groupEvents,
  ...policyEvents,
  ...overallBudgetEvents,
  ...operatorEvents,
  ...accessEvents,
  ...identityEvents,
  ...grantEvents,
  ...approvalEvents,
  ...routerEvents,
  ...toolServerEvents,
  ...pinnedToolEvents,
] as const

/** The events of all features, except those of plugins that are packages. */
export const EVENTS = createEventRegistry(declarations)

/** Every domain event, discriminated by `type`. */
export type DomainEvent = EventOf<typeof declarations>

export const { decode: decodeEvent, isWellFormed } = EVENTS
