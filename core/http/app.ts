import Router from '@koa/router'
import Koa from 'koa'
import type { Logger } from 'pino'
import { GatewayError, type GatewayMiddleware, type GatewayRouter, type RuleSet } from '../contract/index.ts'
import { chat } from '../dialects/chat/dialect.ts'
import type { Dialect } from '../dialects/dialect.ts'
import { chainFor } from '../pipeline/chain.ts'
import type { Step } from '../pipeline/set-up.ts'
import { answerErrors, envelope } from './answer-errors.ts'
import { identify } from './identify.ts'
import { answerIn, openExchange } from './inference.ts'
import { logRequests } from './log-requests.ts'
import { addProbes } from './probes.ts'
import { createBodyReader } from './read-body.ts'

export interface AppParts {
  readonly steps: readonly Step[]
  readonly rulesOf: (userId: number) => RuleSet
  readonly bodyLimit: number
  readonly logger: Logger
  readonly whyNotReady: () => string | undefined
}

/** The application of the main address: probes, inference endpoints, and the endpoints that plugins bring. */
export function createApp({ steps, rulesOf, bodyLimit, logger, whyNotReady }: AppParts): Koa {
  const readBody = createBodyReader(bodyLimit)
  const router: GatewayRouter = new Router()

  addProbes(router, whyNotReady)

  const inference = (dialect: Dialect): GatewayMiddleware[] => [
    answerErrors(logger, dialect.errorBody),
    ...chainFor('inference', steps, [readBody, openExchange(dialect, rulesOf)]),
    answerIn(dialect),
  ]
  router.post('/v1/chat/completions', ...inference(chat))

  const app = new Koa()
  app.use(identify as Koa.Middleware)
  app.use(logRequests(logger) as Koa.Middleware)
  app.use(answerErrors(logger) as Koa.Middleware)
  app.use(router.routes() as Koa.Middleware)
  for (const { parts } of steps) {
    const shape = answerErrors(logger, parts.errorBody ?? envelope)
    mount(app, parts.openRoutes, [shape, readBody])
    mount(app, parts.routes, [shape, ...chainFor('management', steps, [readBody])])
  }
  app.use(refuseUnserved)
  return app
}

/** Every plugin gets a router of its own: what nested routers `use` would run before each other's routes, too. */
function mount(
  app: Koa,
  addRoutes: ((router: GatewayRouter) => void) | undefined,
  before: readonly GatewayMiddleware[],
): void {
  if (addRoutes === undefined) return
  const router: GatewayRouter = new Router()
  router.use(...before)
  addRoutes(router)
  app.use(router.routes() as Koa.Middleware)
}

/** 405 with `allow` for a path that is served with other methods, 404 for one that is not served at all. */
const refuseUnserved: Koa.Middleware = (ctx) => {
  const served: readonly { methods: readonly string[] }[] = ctx.matched ?? []
  const allowed = [...new Set(served.flatMap(({ methods }) => methods))].join(', ')
  if (allowed === '')
    throw new GatewayError('not_found', `There is no ${ctx.path} here. See the documentation.`)
  throw new GatewayError(
    'method_not_allowed',
    `${ctx.path} does not take ${ctx.method}. It takes ${allowed}.`,
    {
      headers: { allow: allowed },
    },
  )
}
