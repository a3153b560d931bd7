import { AsyncLocalStorage } from 'node:async_hooks'

/**
 * Tells whose code runs, also in timers, promises and events that it has started. Nothing enters the context
 * without plugin packages, and it then costs nothing: see docs/decisions/plugins.md, "What a plugin leaks is
 * attributed by its asynchronous context".
 */
const context = new AsyncLocalStorage<string | undefined>()

let isUsed = false

/** Calls the code of a plugin. `title` is its name in messages. */
export function runAsPlugin<Value>(title: string, call: () => Value): Value {
  isUsed = true
  return context.run(title, call)
}

/** True once the code of a plugin package has run. */
export function hasRunPlugins(): boolean {
  return isUsed
}

/** Calls the code of the gateway, from that of a plugin. */
export function runAsGateway<Value>(call: () => Value): Value {
  return isUsed ? context.run(undefined, call) : call()
}

/** The name of the plugin whose code runs; undefined if it is the gateway's. */
export function currentPlugin(): string | undefined {
  return isUsed ? context.getStore() : undefined
}

/** Plugins by the errors that their code has thrown, which may be frozen. */
const throwers = new WeakMap<object, string>()

/** Remembers whose code has thrown an error. */
export function noteThrower(error: Error, title: string): void {
  if (!throwers.has(error)) throwers.set(error, title)
}

/** Returns `{plugin}` for log lines about what a plugin has thrown. */
export function describeThrower(error: unknown): { readonly plugin?: string } {
  const plugin = error instanceof Error ? throwers.get(error) : undefined
  return plugin === undefined ? {} : { plugin }
}

/** Plugins by the path of their file or the folder of their package. */
const files = new Map<string, string>()

/** Remembers where the code of a plugin is. */
export function notePluginFile(file: string, title: string): void {
  const folder = /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+\/)/.exec(file)?.[1]
  files.set(folder ?? file, title)
}

/** Returns the plugin whose code is in the stack of an error, for errors that have lost their context. */
export function findPluginInStack(error: unknown): string | undefined {
  let stack = ''
  try {
    stack = error instanceof Error ? `${error.stack}` : ''
  } catch {}
  return [...files].find(([path]) => stack.includes(path))?.[1]
}
