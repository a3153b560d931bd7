import type { GatewayMiddleware, JsonObject, Plugin } from '../contract/index.ts'

/**
 * A plugin that is made of plain Koa middleware: a function of two parameters is the middleware itself, any other takes the options
 * and gives it. It runs for all requests and may stand before the body is read.
 */
export function fromKoaMiddleware(use: string, exported: AnyFunction): Plugin {
  const plugin = { name: use, applies: 'all', needs: 'headers' } as const
  if (exported.length === 2) return { ...plugin, setup: () => ({ middleware: asMiddleware(exported) }) }
  return {
    ...plugin,
    options: { type: 'object' },
    async setup(options: JsonObject) {
      const made = await exported(options)
      if (typeof made === 'function') return { middleware: asMiddleware(made) }
      throw new Error(
        'its default export is a function that gave no middleware for these options; ' +
          'it must be (ctx, next) => …, or (options) => (ctx, next) => …',
      )
    },
  }
}

export type AnyFunction = (...parameters: readonly unknown[]) => unknown

/** The cast says what Koa middleware is; what it returns is awaited by the chain, whatever it is. */
function asMiddleware(made: unknown): GatewayMiddleware {
  return made as GatewayMiddleware
}
