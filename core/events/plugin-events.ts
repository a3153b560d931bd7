import {
  type EventDeclaration,
  isJsonObject,
  type NewEvent,
  type PluginEvent,
  type RecordedEvent,
} from '../contract/index.ts'
import { errorSummary } from '../util/error-message.ts'
import { compileUntrustedValidator, describeSchemaError } from '../util/json-schema.ts'
import { upcast } from './codec.ts'

/** Between a plugin's events and the log. */
export interface PluginCodec {
  /** Version of the shapes that are written. */
  readonly version: number
  /** Throws when there is no such type, or the data does not fit it. */
  encode(event: NewEvent): NewEvent
  /** Undefined for other plugins' events, and for a type or version that this version of the plugin does not know. */
  decode(record: RecordedEvent): PluginEvent | undefined
  /** What is wrong with the event, as the end of a sentence; undefined when nothing is. */
  findIssue(event: NewEvent): string | undefined
  streamOf(subject: string): string
}

/** Throws a sentence when the declaration cannot work. */
export function createPluginCodec(plugin: string, declared: EventDeclaration): PluginCodec {
  const { types, version = 1, upcasts = {} } = declared
  if (!canOwnEvents(plugin))
    throw new Error('a plugin with events needs a name like that of an npm package: lower case, no spaces')
  if (!Number.isInteger(version) || version < 1)
    throw new Error('the version of its events must be 1 or more')
  const checks = new Map(Object.entries(types).map(([type, schema]) => [type, compileType(type, schema)]))

  function faultOf({ type, data }: NewEvent): string | undefined {
    const check = checks.get(type)
    if (check === undefined) return 'is not declared in its events.types'
    if (!isJsonObject(data)) return 'has no data: give an object'
    if (check(data)) return undefined
    return `does not fit its schema: ${(check.errors ?? []).map(describeSchemaError).join('; ')}`
  }

  return {
    version,
    findIssue: faultOf,
    encode(event) {
      const fault = faultOf(event)
      if (fault !== undefined) throw new Error(`the event "${event.type}" of plugin "${plugin}" ${fault}`)
      return { type: pluginType(plugin, event.type), data: event.data }
    },
    decode({ stream, type, data, revision, position, metadata }) {
      const subject = subjectIn(plugin, stream)
      const own = withoutPluginPrefix(plugin, type)
      const { schema, actor, time, requestId } = metadata
      if (subject === undefined || own === undefined || schema > version) return undefined
      const event = upcast({ type: own, data }, schema, version, upcasts)
      if (!checks.has(event.type)) return undefined
      const by = { actor, ...(requestId !== undefined && { requestId }) }
      return { type: event.type, data: event.data, subject, revision, position, time, ...by }
    },
    streamOf(subject) {
      if (typeof subject === 'string' && subject !== '') return pluginStream(plugin, subject)
      throw new Error(`the subject of an event of plugin "${plugin}" must be a text`)
    },
  }
}

function compileType(type: string, schema: EventDeclaration['types'][string]) {
  if (!isTypeName(type)) throw new Error(`"${type}" cannot be a type of event: use letters and digits`)
  try {
    return compileUntrustedValidator<NewEvent['data']>(schema)
  } catch (cause) {
    throw new Error(`the schema of its event "${type}" is no JSON schema: ${errorSummary(cause)}`, { cause })
  }
}

/** How the names of all streams begin that plugins write to. */
export const PLUGIN_STREAM_PREFIX = 'plugin-'

/** npm's names of packages, and so nothing that could be mistaken for what follows it in a stream. */
const PLUGIN_NAME = /^(@[a-z0-9][a-z0-9._~-]*\/)?[a-z0-9][a-z0-9._~-]*$/

const TYPE_NAME = /^[A-Za-z][A-Za-z0-9_-]*$/

/** Stands between the plugin and what is the plugin's own, in streams and in types. */
const SEPARATOR = ':'

export function isPluginStream(stream: string): boolean {
  return stream.startsWith(PLUGIN_STREAM_PREFIX)
}

function pluginStream(plugin: string, subject: string): string {
  return `${PLUGIN_STREAM_PREFIX}${plugin}${SEPARATOR}${subject}`
}

/** The type as it stands in the log. */
function pluginType(plugin: string, type: string): string {
  return `${plugin}${SEPARATOR}${type}`
}

/** What comes after the plugin's name; undefined when it is another plugin's, or nobody's. */
export function withoutPluginPrefix(plugin: string, name: string): string | undefined {
  return name.startsWith(plugin + SEPARATOR) ? name.slice(plugin.length + SEPARATOR.length) : undefined
}

/** The subject of a stream of the plugin. */
function subjectIn(plugin: string, stream: string): string | undefined {
  return isPluginStream(stream)
    ? withoutPluginPrefix(plugin, stream.slice(PLUGIN_STREAM_PREFIX.length))
    : undefined
}

/** The plugin whose stream it is; undefined when it is nobody's. */
export function pluginOfStream(stream: string): string | undefined {
  const end = stream.indexOf(SEPARATOR)
  return isPluginStream(stream) && end !== -1 ? stream.slice(PLUGIN_STREAM_PREFIX.length, end) : undefined
}

/** Whether a plugin of that name can have events. */
function canOwnEvents(plugin: string): boolean {
  return PLUGIN_NAME.test(plugin)
}

function isTypeName(type: string): boolean {
  return TYPE_NAME.test(type)
}
