import module from 'node:module'
import { extname } from 'node:path'

/** Node 22.15 and later; there it also serves `require`. */
interface SyncHooks {
  registerHooks(hooks: {
    resolve(
      specifier: string,
      context: unknown,
      next: (specifier: string, context: unknown) => unknown,
    ): unknown
  }): void
}

let isLent = false

/**
 * From now on `import 'signalbox'` gives this very instance to whoever asks in this process. A plugin package needs no copy beside it
 * then, wherever it and the gateway are installed.
 */
export function registerSelfResolution(): void {
  if (isLent) return
  isLent = true
  const url = new URL(`../contract/index${extname(import.meta.url)}`, import.meta.url).href
  const own = { url, format: 'module', shortCircuit: true }
  if (hasSyncHooks(module)) {
    module.registerHooks({
      resolve: (specifier, context, next) => (specifier === 'signalbox' ? own : next(specifier, context)),
    })
    return
  }
  const hook = `export const resolve = (specifier, context, next) =>
    specifier === 'signalbox' ? ${JSON.stringify(own)} : next(specifier, context)`
  module.register(`data:text/javascript,${encodeURIComponent(hook)}`)
}

function hasSyncHooks(loader: object): loader is SyncHooks {
  return 'registerHooks' in loader
}
