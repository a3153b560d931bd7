import type { Actor, EventMetadata } from '../contract/event-log.ts'
import { isJsonObject } from '../contract/json.ts'

/** The gateway itself. */
export const SYSTEM_ACTOR: Actor = { type: 'system', id: 'system', name: 'system' }

/** A command of the program, which has access to the event log instead of a key. */
export const CLI_ACTOR: Actor = { type: 'cli', id: 'cli', name: 'cli' }

/** The holder of the `ADMIN_KEY`. See docs/decisions/operators.md, "The root is not an operator". */
export const ROOT_ACTOR: Actor = { type: 'root', id: 'root', name: 'root' }

const TYPES: readonly unknown[] = [
  'operator',
  'key',
  'identity',
  'root',
  'cli',
  'system',
] satisfies Actor['type'][]

/** Whether a value is the metadata of an event of Signalbox: other programs may share the server. */
export function isEventMetadata(value: unknown): value is EventMetadata {
  return (
    isJsonObject(value) &&
    isActor(value.actor) &&
    typeof value.time === 'string' &&
    !Number.isNaN(Date.parse(value.time)) &&
    typeof value.schema === 'number'
  )
}

function isActor(actor: unknown): boolean {
  return (
    isJsonObject(actor) &&
    TYPES.includes(actor.type) &&
    typeof actor.id === 'string' &&
    typeof actor.name === 'string'
  )
}
