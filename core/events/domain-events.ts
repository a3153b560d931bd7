import { streamCategory } from './define-event.ts'

/** The types of the events of rules: see `projections/events/rules.ts`. */
export interface RuleEvent {
  readonly type: `${'Routing' | 'Firewall'}Rule${'Created' | 'Updated' | 'Deleted'}`
}

/** See docs/decisions/event-log.md, "One stream of rule events per user, for both kinds". */
export const rulesStream = streamCategory('rules-', 'userId')
