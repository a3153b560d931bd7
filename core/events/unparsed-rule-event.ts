import { UnparsedEvent } from '../event-log/stored-event.ts'
import { SCHEMA_VERSION } from './codec.ts'
import { type RuleEvent, rulesStream } from './domain-events.ts'

/** A well-formed event about a rule of a user whose JSON was not parsed. */
export interface UnparsedRuleEvent {
  readonly userId: number
  readonly type: RuleEvent['type']
  /** `data` as JSON. */
  readonly dataText: string
  /** The time of the event as JSON. */
  readonly timeText: string
  readonly record: UnparsedEvent
}

/** How each type begins, as `append` writes it, and what may follow the ids. */
const HEADS: Readonly<Record<RuleEvent['type'], RegExp>> = {
  RoutingRuleCreated: /^\{"userId":(\d{1,15}),"ruleId":[1-9]\d{0,14},"content":\{/,
  RoutingRuleUpdated: /^\{"userId":(\d{1,15}),"ruleId":[1-9]\d{0,14},"changes":\{/,
  RoutingRuleDeleted: /^\{"userId":(\d{1,15}),"ruleId":[1-9]\d{0,14}\}$/,
  FirewallRuleCreated: /^\{"userId":(\d{1,15}),"ruleId":[1-9]\d{0,14},"content":\{/,
  FirewallRuleUpdated: /^\{"userId":(\d{1,15}),"ruleId":[1-9]\d{0,14},"changes":\{/,
  FirewallRuleDeleted: /^\{"userId":(\d{1,15}),"ruleId":[1-9]\d{0,14}\}$/,
}

/** Of fields with the same name, the last one counts. */
const REPEATED = /"(?:userId|policyId|ruleId|content|changes)":/

/** A quote within a text is escaped, so these can only be fields of metadata, in the order of `append`. */
const TIME = '"time":'
const SCHEMA_NAME = '"schema":'
const SCHEMA = `,${SCHEMA_NAME}${SCHEMA_VERSION}`
const IDEMPOTENCY = '"idempotency":'

/**
 * Reads a stored event about a rule of a user without parsing its JSON. Returns undefined for all other
 * events, and for those that must be parsed to know what they are: of another version, of a request with an
 * `Idempotency-Key`, or not as this program writes them. See docs/decisions/event-log.md, "A rebuild does not
 * parse what it does not look at".
 */
export function readUnparsedRuleEvent(record: object): UnparsedRuleEvent | undefined {
  if (!(record instanceof UnparsedEvent) || !record.isValid || !isRuleType(record.type)) return undefined
  const timeText = readTime(record.metadataText())
  if (timeText === undefined) return undefined
  const dataText = record.dataText()
  const [head = '', id] = HEADS[record.type].exec(dataText) ?? []
  const userId = Number(id)
  if (!(userId > 0) || record.stream !== rulesStream(userId)) return undefined
  if (REPEATED.test(dataText.slice(head.length))) return undefined
  return { userId, type: record.type, dataText, timeText, record }
}

function isRuleType(type: string): type is RuleEvent['type'] {
  return Object.hasOwn(HEADS, type)
}

/** Returns undefined if the metadata says more than who made the change, when and why. */
function readTime(metadata: string): string | undefined {
  const start = metadata.indexOf(TIME) + TIME.length
  const end = metadata.indexOf('"', start + 1) + 1
  const isExpected = start >= TIME.length && metadata[start] === '"' && metadata.startsWith(SCHEMA, end)
  const next = metadata[end + SCHEMA.length]
  if (!isExpected || (next !== ',' && next !== '}') || metadata.includes(IDEMPOTENCY)) return undefined
  if (metadata.includes(SCHEMA_NAME, end + SCHEMA.length)) return undefined
  const text = metadata.slice(start, end)
  return text.includes('\\') ? undefined : text
}
