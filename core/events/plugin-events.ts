import {
  type EventDeclaration,
  isJsonObject,
  type NewEvent,
  type PluginEvent,
  type RecordedEvent,
  type Upcasts,
} from '../contract/index.ts'
import { errorSummary } from '../util/error-message.ts'
import { compileUntrustedValidator, describeSchemaErrors } from '../util/json-schema.ts'

/** Converts between a plugin's events and the log's. */
export interface PluginCodec {
  /** Version of the event shapes that are written. */
  readonly version: number
  /** Throws if the type is not declared or the data does not match its schema. */
  encode(event: NewEvent): NewEvent
  /**
   * Returns undefined for events of other plugins, and for types and versions that this version cannot
   * decode.
   */
  decode(record: RecordedEvent): PluginEvent | undefined
  /** Validates an event. Returns the issue as the end of a sentence, undefined if the event is valid. */
  findIssue(event: NewEvent): string | undefined
  /** Returns the name of the stream for a subject; throws if the subject is not a non-empty string. */
  streamOf(subject: string): string
}

/** Throws an error with a message for the operator if the declaration is not valid. */
export function createPluginCodec(plugin: string, declaration: EventDeclaration): PluginCodec {
  const { types, version = 1, upcasts = {} } = declaration
  if (!PLUGIN_NAME.test(plugin))
    throw new Error('a plugin with events must have a valid npm package name: lower case, without spaces')
  if (!Number.isInteger(version) || version < 1)
    throw new Error('events.version must be an integer of at least 1')
  const validators = new Map(
    Object.entries(types).map(([type, schema]) => [type, compileEventType(type, schema)]),
  )

  function findIssue({ type, data }: NewEvent): string | undefined {
    const validate = validators.get(type)
    if (validate === undefined) return 'is not declared in events.types'
    if (!isJsonObject(data)) return 'has no data: data must be an object'
    if (validate(data)) return undefined
    return `does not match its schema: ${describeSchemaErrors(validate.errors).join('; ')}`
  }

  return {
    version,
    findIssue,
    encode(event) {
      const issue = findIssue(event)
      if (issue !== undefined) throw new Error(`event "${event.type}" of plugin "${plugin}" ${issue}`)
      return { type: plugin + SEPARATOR + event.type, data: event.data }
    },
    decode({ stream, type, data, revision, position, metadata }) {
      const subject = subjectOf(plugin, stream)
      const ownType = withoutPluginPrefix(plugin, type)
      const { schema, actor, time, requestId, reason } = metadata
      if (subject === undefined || ownType === undefined || schema > version) return undefined
      const event = upcast({ type: ownType, data }, schema, version, upcasts)
      if (!validators.has(event.type)) return undefined
      const author = { actor, ...(requestId && { requestId }), ...(reason && { reason }) }
      return { type: event.type, data: event.data, subject, revision, position, time, ...author }
    },
    streamOf(subject) {
      if (typeof subject !== 'string' || subject === '')
        throw new Error(`the subject of an event of plugin "${plugin}" must be a non-empty string`)
      return PLUGIN_STREAM_PREFIX + plugin + SEPARATOR + subject
    },
  }
}

function compileEventType(type: string, schema: EventDeclaration['types'][string]) {
  if (!TYPE_NAME.test(type))
    throw new Error(
      `"${type}" is not a valid event type: start with a letter, then use letters, digits, _ or -`,
    )
  try {
    return compileUntrustedValidator<NewEvent['data']>(schema)
  } catch (cause) {
    throw new Error(`the schema of event "${type}" is not a valid JSON Schema: ${errorSummary(cause)}`, {
      cause,
    })
  }
}

/** The prefix of all streams of plugins. */
export const PLUGIN_STREAM_PREFIX = 'plugin-'

/** The names that npm allows for packages. They cannot contain the separator. */
const PLUGIN_NAME = /^(@[a-z0-9][a-z0-9._~-]*\/)?[a-z0-9][a-z0-9._~-]*$/

const TYPE_NAME = /^[A-Za-z][A-Za-z0-9_-]*$/

/**
 * Separates the plugin's name from the subject in stream names, and from the plugin's own type in event
 * types.
 */
const SEPARATOR = ':'

export function isPluginStream(stream: string): boolean {
  return stream.startsWith(PLUGIN_STREAM_PREFIX)
}

/** Removes `{plugin}:` from a name. Returns undefined if the name does not begin with it. */
export function withoutPluginPrefix(plugin: string, name: string): string | undefined {
  return name.startsWith(plugin + SEPARATOR) ? name.slice(plugin.length + SEPARATOR.length) : undefined
}

/** Returns the plugin that a stream belongs to, undefined if it is not a plugin's stream. */
export function pluginOfStream(stream: string): string | undefined {
  const end = stream.indexOf(SEPARATOR)
  return isPluginStream(stream) && end !== -1 ? stream.slice(PLUGIN_STREAM_PREFIX.length, end) : undefined
}

/** Returns the subject of a stream of the plugin, undefined for other streams. */
function subjectOf(plugin: string, stream: string): string | undefined {
  return isPluginStream(stream)
    ? withoutPluginPrefix(plugin, stream.slice(PLUGIN_STREAM_PREFIX.length))
    : undefined
}

/** Converts an event of schema version `from` to the shape of version `to`. */
function upcast(event: NewEvent, from: number, to: number, upcasts: Upcasts): NewEvent {
  let current = event
  for (let version = from; version < to; version++) {
    const step = upcasts[version]
    if (step && Object.hasOwn(step, current.type)) current = step[current.type]?.(current) ?? current
  }
  return current
}
