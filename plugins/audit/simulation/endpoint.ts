import {
  type EventLog,
  type Exchange,
  GatewayError,
  type GatewayRouter,
  type Host,
} from '../../../core/contract/index.ts'
import { chatDialect } from '../../../core/dialects/chat/dialect.ts'
import { routeDialect } from '../../../core/dialects/route/dialect.ts'
import { createExchange, type RequestParser } from '../../../core/http/exchange.ts'
import { jsonBody } from '../../../core/http/read-body.ts'
import { parseResponsesCall } from '../../responses/read-call.ts'
import { findResponse } from '../../responses/store.ts'
import type { AuditServices } from '../services.ts'
import { pinFor } from './pin-for.ts'
import { type Endpoint, readSimulation } from './read-simulation.ts'
import { showDecision } from './show-decision.ts'

/** `POST /v1/simulate`: what would become of a request, decided by the code that decides about real ones; nothing is sent. */
export function addSimulationRoute(router: GatewayRouter, services: AuditServices, host: Host): void {
  const readers = createReaders(host.log)
  router.post('/v1/simulate', async (ctx) => {
    const simulation = readSimulation(jsonBody(ctx))
    const pinned = await pinFor(simulation, ctx.account, services)
    const exchange = await createExchange(readers[simulation.endpoint], simulation.request, ctx, pinned)
    ctx.body = { data: showDecision(exchange, await decide(exchange, host)) }
  })
}

/** Resolves with why the request would be refused; undefined when it would not. */
async function decide(exchange: Exchange, host: Host): Promise<GatewayError | undefined> {
  try {
    await host.decide(exchange)
    return undefined
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
}

function createReaders(log: Pick<EventLog, 'read'>): Readonly<Record<Endpoint, RequestParser>> {
  const responses: RequestParser = {
    async parseRequest(body, { account }) {
      const call = await parseResponsesCall(body, (seed) => findResponse(log, seed, account.userId))
      return call.request
    },
  }
  return { chat: chatDialect, responses, route: routeDialect }
}
