import { isJsonObject, isPlan, type RecordedEvent } from '../contract/index.ts'
import { isEventMetadata } from '../event-log/actor.ts'
import { ReceivedEvent, UnreadableEventError } from '../event-log/stored-event.ts'
import { CHECKPOINTS_STREAM, LOG_STREAM } from '../event-log/streams.ts'
import { ACCESS_STREAM } from './access-events.ts'
import type { DomainEvent } from './codec.ts'
import {
  BUDGET_PERIODS,
  BUDGET_REACTIONS,
  IDS_STREAM,
  type KeyTerms,
  OVERALL_BUDGET_STREAM,
  type RuleOwner,
  rulesStream,
  userStream,
} from './domain-events.ts'
import { type PolicyContent, policyStream } from './policy-events.ts'
import { isRatedModel, ROUTERS_STREAM, type RouterVersionData } from './router-events.ts'

/**
 * Whether data and metadata are those of an event of Signalbox: they are `foreign` if other programs have
 * written them, and `unreadable` if they are not JSON. See docs/decisions/event-log.md, "What is not an event
 * is skipped, on both logs".
 */
export function classifyContent(record: RecordedEvent): 'own' | 'foreign' | 'unreadable' {
  if (record instanceof ReceivedEvent) return 'own'
  try {
    return isJsonObject(record.data) && isEventMetadata(record.metadata) ? 'own' : 'foreign'
  } catch (error) {
    if (error instanceof UnreadableEventError) return 'unreadable'
    throw error
  }
}

/**
 * Whether a decoded event has the fields that its type requires, and is in the stream that it belongs to.
 * Other programs can write events with our types; applying them could end the process.
 */
export function isWellFormed({ type, data }: DomainEvent, { stream }: RecordedEvent): boolean {
  switch (type) {
    case 'LogCreated':
      return stream === LOG_STREAM && typeof data.id === 'string'
    case 'CheckpointSigned':
      return stream === CHECKPOINTS_STREAM && typeof data.note === 'string'
    case 'IdsReserved':
      return stream === IDS_STREAM && isId(data.first) && isId(data.count)
    case 'UserCreated':
      return isUserStream(stream, data.userId) && typeof data.name === 'string' && isPlan(data.plan)
    case 'PlanChanged':
      return isUserStream(stream, data.userId) && isPlan(data.plan)
    case 'RequestLimitChanged':
    case 'TokenLimitChanged':
    case 'ConcurrencyLimitChanged':
      return isUserStream(stream, data.userId)
    case 'BudgetSet':
      return isUserStream(stream, data.userId) && isBudget(data.budget)
    case 'BudgetRemoved':
      return isUserStream(stream, data.userId)
    case 'OverallBudgetSet':
    case 'ShadowBudgetSet':
      return stream === OVERALL_BUDGET_STREAM && isBudget(data.budget)
    case 'OverallBudgetRemoved':
    case 'ShadowBudgetRemoved':
      return stream === OVERALL_BUDGET_STREAM
    case 'OperatorSignedIn':
      return stream === ACCESS_STREAM
    case 'SessionEnded':
      return stream === ACCESS_STREAM && typeof data.session === 'string' && isTime(data.expiresAt)
    case 'OperatorCallsRefused':
      return stream === ACCESS_STREAM && typeof data.address === 'string'
    case 'DataRead':
      return stream === ACCESS_STREAM && typeof data.operation === 'string'
    case 'PromptsDeleted':
      return stream === ACCESS_STREAM && isId(data.userId)
    case 'RatingsImported':
    case 'ImportedRatingsDeleted':
      return stream === ACCESS_STREAM && Number.isSafeInteger(data.ratings)
    case 'RouterTrained':
      return stream === ROUTERS_STREAM && isRouterVersion(data)
    case 'RouterActivated':
      return stream === ROUTERS_STREAM && isId(data.version) && isRouterScope(data.scope)
    case 'RouterRolledBack':
      return (
        stream === ROUTERS_STREAM &&
        (data.version === null || isId(data.version)) &&
        isRouterScope(data.scope)
      )
    case 'UserRenamed':
      return isUserStream(stream, data.userId) && typeof data.name === 'string'
    case 'UserDeleted':
      return isUserStream(stream, data.userId)
    case 'KeyIssued':
      return (
        isUserStream(stream, data.userId) &&
        typeof data.keyId === 'string' &&
        typeof data.hash === 'string' &&
        hasValidTerms(data)
      )
    case 'KeyExpirySet':
      return isUserStream(stream, data.userId) && typeof data.keyId === 'string' && isTime(data.expiresAt)
    case 'KeyRevoked':
      return (
        (stream === REVOCATIONS_STREAM || isUserStream(stream, data.userId)) && typeof data.keyId === 'string'
      )
    case 'UserAddedToGroup':
    case 'UserRemovedFromGroup':
      return isUserStream(stream, data.userId) && isId(data.groupId)
    case 'PolicyCreated':
      return isPolicyStream(stream, data.policyId) && isPolicyContent(data)
    case 'PolicyUpdated':
      return isPolicyStream(stream, data.policyId) && isJsonObject(data.changes)
    case 'PolicyDeleted':
      return isPolicyStream(stream, data.policyId)
    case 'RoutingRuleCreated':
    case 'FirewallRuleCreated':
      return isRuleOf(stream, data) && isJsonObject(data.content)
    case 'RoutingRuleUpdated':
    case 'FirewallRuleUpdated':
      return isRuleOf(stream, data) && isJsonObject(data.changes)
    case 'RoutingRuleDeleted':
    case 'FirewallRuleDeleted':
      return isRuleOf(stream, data)
    default:
      return type satisfies never
  }
}

/**
 * Revocations of keys whose user's stream cannot be written. See docs/decisions/event-log.md, "A key can be
 * revoked whatever state its user's stream is in".
 */
export const REVOCATIONS_STREAM = 'revocations'

function isId(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) > 0
}

/** A malformed limit would compare as if there were none. */
function isBudget(budget: unknown): boolean {
  if (!isJsonObject(budget)) return false
  const { limitUsd, period, onExceed } = budget
  const isKnown = (values: readonly string[], value: unknown) => values.some((known) => known === value)
  return Number.isFinite(limitUsd) && isKnown(BUDGET_PERIODS, period) && isKnown(BUDGET_REACTIONS, onExceed)
}

/** A malformed restriction would admit everything. */
function hasValidTerms({ expiresAt, models, endpoints }: Partial<Record<keyof KeyTerms, unknown>>): boolean {
  const isList = (list: unknown) => list === undefined || (Array.isArray(list) && list.every(isText))
  return (expiresAt === undefined || isTime(expiresAt)) && isList(models) && isList(endpoints)
}

/** Whether the weights can be decoded is seen where they are used. */
function isRouterVersion(data: RouterVersionData): boolean {
  const { version, scope, figures, trainedFrom, featureKeyId, checksum, models, bytes, weightsLeaf } = data
  return (
    isId(version) &&
    isRouterScope(scope) &&
    [figures, trainedFrom, models].every(isJsonObject) &&
    [featureKeyId, checksum, weightsLeaf].every(isText) &&
    Object.values(models).every(isRatedModel) &&
    Number.isSafeInteger(bytes)
  )
}

function isRouterScope(scope: unknown): boolean {
  return isJsonObject(scope) && (scope.everyone === true || isId(scope.groupId))
}

function isText(value: unknown): boolean {
  return typeof value === 'string'
}

function isTime(value: unknown): boolean {
  return typeof value === 'string' && !Number.isNaN(Date.parse(value))
}

function isUserStream(stream: string, userId: number): boolean {
  return isId(userId) && stream === userStream(userId)
}

function isPolicyStream(stream: string, policyId: number): boolean {
  return isId(policyId) && stream === policyStream(policyId)
}

function isPolicyContent({ name, priority, appliesTo, visibility = 'name' }: PolicyContent): boolean {
  if (typeof name !== 'string' || !Number.isFinite(priority) || !isJsonObject(appliesTo)) return false
  if (visibility !== 'name' && visibility !== 'full') return false
  return 'everyone' in appliesTo || (Array.isArray(appliesTo.groups) && Array.isArray(appliesTo.users))
}

function isRuleOf(stream: string, data: RuleOwner & { ruleId: number }): boolean {
  if (!isId(data.ruleId)) return false
  if ('policyId' in data) return isPolicyStream(stream, data.policyId)
  return isId(data.userId) && stream === rulesStream(data.userId)
}
