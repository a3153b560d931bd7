import type { Actor, EventMetadata } from '../contract/event-log.ts'
import { isJsonObject } from '../contract/json.ts'

/** The gateway itself. */
export const SYSTEM_ACTOR: Actor = { type: 'system', id: 'system', name: 'system' }

/** A command of the program, which has access to the event log instead of a key. */
export const CLI_ACTOR: Actor = { type: 'cli', id: 'cli', name: 'cli' }

/** The holder of the `ADMIN_KEY`. */
export const ROOT_ACTOR: Actor = { type: 'root', id: 'root', name: 'root' }

/**
 * Returns the actor of an event. Events of earlier versions have a text: `admin`, `cli`, `system` or the id
 * of a key, which is its name, too.
 */
export function toActor(stored: EventMetadata['actor']): Actor {
  if (typeof stored !== 'string') return stored
  switch (stored) {
    case 'admin':
      return ROOT_ACTOR
    case 'cli':
      return CLI_ACTOR
    case 'system':
      return SYSTEM_ACTOR
    default:
      return { type: 'key', id: stored, name: stored }
  }
}

const TYPES: readonly unknown[] = ['operator', 'key', 'root', 'cli', 'system'] satisfies Actor['type'][]

/** Whether a value is the metadata of an event of Signalbox: other programs may share the server. */
export function isEventMetadata(value: unknown): value is EventMetadata {
  return (
    isJsonObject(value) &&
    isStoredActor(value.actor) &&
    typeof value.time === 'string' &&
    !Number.isNaN(Date.parse(value.time)) &&
    typeof value.schema === 'number'
  )
}

function isStoredActor(actor: unknown): boolean {
  if (!isJsonObject(actor)) return typeof actor === 'string'
  return TYPES.includes(actor.type) && typeof actor.id === 'string' && typeof actor.name === 'string'
}
