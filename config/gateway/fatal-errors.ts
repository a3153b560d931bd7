import type { Logger } from 'pino'
import { currentPlugin, describeThrower, findPluginInStack } from '../../core/util/plugin-context.ts'

/** What ends the process: an error that nobody handled. */
export interface FatalErrors {
  /** Resolves with the first one. */
  readonly first: Promise<Error>
  /** Undefined until there is one. */
  readonly error: Error | undefined
}

/** Lines about further errors, such as those of an interval, while requests in flight finish. */
const MAX_LINES = 20

/** Time for the end besides that for requests in flight: see `MAX_CLOSE_MS` of plugins. */
const CLOSE_MS = 15_000

/**
 * Logs errors that nobody handles, with the plugin that they come from. The process ends in order: whoever
 * runs it waits for `first`. It ends by force if that takes too long, `drainMs` and some seconds. A plugin
 * that calls `process.exit` is such an error, too. See docs/decisions/plugins.md, "What a plugin leaks is
 * attributed by its asynchronous context".
 */
export function watchFatalErrors(logger: Logger, drainMs: () => number): FatalErrors {
  const known = new WeakSet<Error>()
  const { exit } = process
  let lines = 0
  let resolve: (error: Error) => void = () => undefined
  const watch = {
    first: new Promise<Error>((resolveFirst) => {
      resolve = resolveFirst
    }),
    error: undefined as Error | undefined,
  }

  function report(thrown: unknown, origin: string, plugin = findPlugin(thrown)): void {
    const isError = thrown instanceof Error
    if (isError && known.has(thrown)) return
    // What was thrown in place of an error could be a text of a request.
    const err = isError ? thrown : new TypeError(`a ${typeof thrown} was thrown in place of an error`)
    known.add(err)
    lines += 1
    if (lines <= MAX_LINES)
      logger.fatal(
        { err, ...(plugin !== undefined && { plugin }), origin },
        `${plugin ?? 'the gateway'} left an error unhandled; ending once requests in flight have finished`,
      )
    if (watch.error !== undefined) return
    watch.error = err
    setTimeout(() => exit.call(process, 1), drainMs() + CLOSE_MS).unref()
    resolve(err)
  }

  process.on('uncaughtException', (error) => report(error, 'uncaughtException'))
  process.on('unhandledRejection', (reason) => report(reason, 'unhandledRejection'))
  process.exit = (code = process.exitCode) => {
    const call = new Error(`process.exit(${code ?? ''}) was called`)
    const plugin = findPlugin(call)
    if (plugin === undefined) return exit.call(process, code)
    report(call, 'process.exit', plugin)
    // The plugin does not expect that it goes on.
    throw call
  }
  return watch
}

function findPlugin(thrown: unknown): string | undefined {
  return currentPlugin() ?? describeThrower(thrown).plugin ?? findPluginInStack(thrown)
}
