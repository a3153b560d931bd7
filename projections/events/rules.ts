import {
  type FirewallRule,
  type RoutingRule,
  type Rule,
  type RuleSet,
  type RulesByKind,
  type ToolRule,
  Type,
} from '../../core/contract/index.ts'
import {
  createFold,
  defineEvent,
  type EventEntry,
  type EventOf,
  Id,
  streamCategory,
} from '../../core/events/define-event.ts'
import { policyStream } from './policies.ts'

/** See docs/decisions/event-log.md, "One stream of rule events per user, for all kinds". */
export const rulesStream = streamCategory('rules-', 'userId')

type ServerFields = 'id' | 'user_id' | 'policy_id' | 'created_at' | 'updated_at' | 'revision'

/** The fields of a rule that its owner sets. */
type RuleContent<Rule> = Omit<Rule, ServerFields>
export type RoutingContent = RuleContent<RoutingRule>
export type FirewallContent = RuleContent<FirewallRule>
export type ToolContent = RuleContent<ToolRule>

/** The fields that the owner sets, by kind. */
export type RuleContents = { readonly [Kind in keyof RulesByKind]: RuleContent<RulesByKind[Kind]> }

export type AnyRuleContent = RuleContents[keyof RulesByKind]

/** The user or the policy that rules belong to. */
export type RuleOwner = { readonly userId: number } | { readonly policyId: number }

type RuleReference = RuleOwner & {
  readonly ruleId: number
}

/**
 * Set on events that revert a rule: the revision whose content was restored. See docs/decisions/rules.md, "A
 * revert is an update or a creation with a note".
 */
export type RevertFields = {
  readonly revertedTo?: number
}

/**
 * Set on events that restore a deleted rule, which keeps its creation time and continues its revisions. See
 * docs/decisions/rules.md, "A deleted rule is restored under its own id".
 */
export type RestoreFields = RevertFields & {
  readonly revision?: number
  readonly createdAt?: string
}

/** The rules of one owner, folded from their events. Mutable. */
export interface UserRules {
  revision: number
  position: number
  readonly routing: Map<number, RoutingRule>
  readonly firewall: Map<number, FirewallRule>
  readonly tool: Map<number, ToolRule>
  /** The sorted rule set; undefined until the first look-up after a change. */
  sorted: RuleSet | undefined
}

const reference = { ruleId: Id, userId: Type.Optional(Id), policyId: Type.Optional(Id) }
const revertedTo = Type.Optional(Type.Integer())
const restored = {
  revertedTo,
  revision: Type.Optional(Type.Integer()),
  createdAt: Type.Optional(Type.String()),
}
const fields = Type.Object({})

/** A rule belongs to a user or to a policy. What rules hold was validated when they were written. */
const ruleData = <Data extends RuleReference>(properties: Parameters<typeof Type.Object>[0]) =>
  Type.Unsafe<Data>({ ...Type.Object(properties), not: { required: ['userId', 'policyId'] } })

/**
 * Changes to the rules of a user or a policy. All kinds share the stream of their owner, so that a batch of
 * changes to several kinds is one append: atomic on every log, and checked against one revision.
 */
function declareRuleEvents<const Prefix extends string, Kind extends Rule>(
  prefix: Prefix,
  kind: keyof RulesByKind,
  rulesOf: (rules: UserRules) => Map<number, Kind>,
) {
  const stream = [rulesStream, policyStream] as const
  const audited = (change: string, { revertedTo }: RevertFields) => ({
    kind,
    change: revertedTo === undefined ? change : 'reverted',
    id: 'ruleId' as const,
  })
  return [
    defineEvent({
      type: `${prefix}Created`,
      schema: ruleData<RuleReference & RestoreFields & { content: RuleContent<Kind> }>({
        ...reference,
        ...restored,
        content: fields,
      }),
      stream,
      audit: (data) => audited('created', data),
      // A deletion that is reverted restores an id.
      assigns: ({ ruleId, revertedTo }) => (revertedTo === undefined ? ruleId : undefined),
      fold(rules: UserRules, data, { metadata: { time } }) {
        const { ruleId, content, createdAt = time, revision = 1 } = data
        // `content` comes last because V8 then creates the object six times as fast as with `content` first.
        const rule =
          'policyId' in data
            ? {
                id: ruleId,
                policy_id: data.policyId,
                created_at: createdAt,
                updated_at: time,
                revision,
                ...content,
              }
            : {
                id: ruleId,
                user_id: data.userId,
                created_at: createdAt,
                updated_at: time,
                revision,
                ...content,
              }
        // Safe: content and server fields together are the whole rule, which TypeScript cannot infer.
        rulesOf(rules).set(ruleId, rule as unknown as Kind)
        return rules
      },
    }),
    defineEvent({
      type: `${prefix}Updated`,
      schema: ruleData<RuleReference & RevertFields & { changes: Partial<RuleContent<Kind>> }>({
        ...reference,
        revertedTo,
        changes: fields,
      }),
      stream,
      audit: (data) => audited('updated', data),
      fold(rules: UserRules, { ruleId, changes }, { metadata: { time } }) {
        const rule = rulesOf(rules).get(ruleId)
        if (rule !== undefined)
          rulesOf(rules).set(ruleId, { ...rule, ...changes, updated_at: time, revision: rule.revision + 1 })
        return rules
      },
    }),
    defineEvent({
      type: `${prefix}Deleted`,
      schema: ruleData<RuleReference>(reference),
      stream,
      audit: { kind, change: 'deleted', id: 'ruleId' },
      fold(rules: UserRules, { ruleId }) {
        rulesOf(rules).delete(ruleId)
        return rules
      },
    }),
  ] as const
}

const KIND_BY_PREFIX = { RoutingRule: 'routing', FirewallRule: 'firewall', ToolRule: 'tool' } as const

/** The kind of the rule that an event is about. */
export function ruleKindOf({ type }: Pick<RuleEvent, 'type'>): keyof RulesByKind {
  // The cast is safe: this is how the events are named.
  return KIND_BY_PREFIX[type.slice(0, -'Created'.length) as keyof typeof KIND_BY_PREFIX]
}

export const ruleEvents = [
  ...declareRuleEvents('RoutingRule', 'routing', ({ routing }) => routing),
  ...declareRuleEvents('FirewallRule', 'firewall', ({ firewall }) => firewall),
  ...declareRuleEvents('ToolRule', 'tool', ({ tool }) => tool),
] as const

export type RuleEvent = EventOf<typeof ruleEvents>

const foldRule = createFold<RuleEvent, UserRules>(ruleEvents)

/** Whether the event is about a rule, of a user or of a policy. */
export const isRuleEvent = foldRule.has

/** Applies an event to the rules in place. */
export function evolveUserRules(rules: UserRules, event: RuleEvent, entry: EventEntry): void {
  rules.revision = entry.revision
  rules.position = entry.position
  rules.sorted = undefined
  foldRule(rules, event, entry)
}
