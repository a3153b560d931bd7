/** How the names of all streams begin that plugins write to. */
export const PLUGIN_STREAMS = 'plugin-'

/** npm's names of packages, and so nothing that could be mistaken for what follows it in a stream. */
const PLUGIN_NAME = /^(@[a-z0-9][a-z0-9._~-]*\/)?[a-z0-9][a-z0-9._~-]*$/

const TYPE_NAME = /^[A-Za-z][A-Za-z0-9_-]*$/

/** Stands between the plugin and what is the plugin's own, in streams and in types. */
const SEPARATOR = ':'

export function isPluginStream(stream: string): boolean {
  return stream.startsWith(PLUGIN_STREAMS)
}

export function pluginStream(plugin: string, subject: string): string {
  return `${PLUGIN_STREAMS}${plugin}${SEPARATOR}${subject}`
}

/** The type as it stands in the log. */
export function pluginType(plugin: string, type: string): string {
  return `${plugin}${SEPARATOR}${type}`
}

/** What comes after the plugin's name; undefined when it is another plugin's, or nobody's. */
export function pluginPart(plugin: string, name: string): string | undefined {
  return name.startsWith(plugin + SEPARATOR) ? name.slice(plugin.length + SEPARATOR.length) : undefined
}

/** The subject of a stream of the plugin. */
export function subjectIn(plugin: string, stream: string): string | undefined {
  return isPluginStream(stream) ? pluginPart(plugin, stream.slice(PLUGIN_STREAMS.length)) : undefined
}

/** The plugin whose stream it is; undefined when it is nobody's. */
export function pluginOf(stream: string): string | undefined {
  const end = stream.indexOf(SEPARATOR)
  return isPluginStream(stream) && end !== -1 ? stream.slice(PLUGIN_STREAMS.length, end) : undefined
}

/** Whether a plugin of that name can have events. */
export function canOwnEvents(plugin: string): boolean {
  return PLUGIN_NAME.test(plugin)
}

export function isTypeName(type: string): boolean {
  return TYPE_NAME.test(type)
}
