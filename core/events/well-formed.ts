import { isJsonObject, type RecordedEvent } from '../contract/index.ts'
import { isEventMetadata } from '../event-log/actor.ts'
import { ReceivedEvent, UnreadableEventError } from '../event-log/stored-event.ts'
import type { DomainEvent } from './codec.ts'
import { type RuleOwner, rulesStream } from './domain-events.ts'
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

function isId(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) > 0
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

function isRuleOf(stream: string, data: RuleOwner & { ruleId: number }): boolean {
  if (!isId(data.ruleId)) return false
  if ('policyId' in data) return isId(data.policyId) && stream === `policy-${data.policyId}`
  return isId(data.userId) && stream === rulesStream(data.userId)
}
