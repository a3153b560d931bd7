import type { Account, Dialect, Exchange, GatewayContext, JsonObject, RuleSet } from '../contract/index.ts'
import { type Soon, whenThere } from '../soon.ts'

/** Who asks, and by which rules, at one moment. */
export interface Pinned {
  readonly account: Account
  readonly rules: RuleSet
}

/** What of a dialect is about requests. */
export type RequestReader = Pick<Dialect, 'readRequest' | 'readPreferences' | 'defaults'>

/** The exchange of a request that nobody has looked at yet. Throws 400 naming the parameter at fault. */
export function createExchange(
  reader: RequestReader,
  body: JsonObject,
  ctx: GatewayContext,
  { account, rules }: Pinned,
): Soon<Exchange> {
  return whenThere(reader.readRequest(body, ctx), (request) => ({
    id: ctx.requestId,
    account,
    client: ctx.client,
    startedAt: ctx.startedAt,
    rules,
    rulesPosition: Math.max(rules.position, account.position),
    request,
    preferences: reader.readPreferences?.(body) ?? [],
    defaulted: (reader.defaults ?? []).filter((name) => body[name] === undefined),
    warnings: [],
    trace: [],
    attempts: [],
  }))
}
