import type { Readable } from 'node:stream'
import type Koa from 'koa'
import type { GatewayContext, GatewayMiddleware } from '../contract/index.ts'

/** A body that middleware of packages may read and replace before it is sent. */
interface LazyBody {
  /** Returns the body as middleware sees it. */
  read(): object | Readable
  /** Sends the body, which no middleware has read or replaced. */
  send(): void
}

const LAZY_BODY = Symbol('lazy body')

interface LazyResponse {
  [LAZY_BODY]?: LazyBody | undefined
  body: unknown
}

/** Stands for the body: Koa sets the status and the headers by it. */
const PLACEHOLDER = {}

/**
 * Makes `ctx.body` build lazy bodies when middleware first reads it, which most middleware does not. Without
 * this, they are sent immediately. See docs/decisions/http.md, "Bodies are built for middleware when it reads
 * them".
 */
export function installLazyBodies({ response }: Koa): void {
  const body = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(response), 'body')
  if (body?.get === undefined || body.set === undefined)
    throw new Error('This version of Koa is not supported.')
  const { get, set } = body
  Object.assign(response, { [LAZY_BODY]: undefined })
  Object.defineProperty(response, 'body', {
    configurable: true,
    get(this: LazyResponse) {
      const lazy = this[LAZY_BODY]
      if (lazy !== undefined) this.body = lazy.read()
      return get.call(this)
    },
    set(this: LazyResponse, value: unknown) {
      this[LAZY_BODY] = undefined
      set.call(this, value)
    },
  })
}

/** Whether bodies wait for middleware, which may also change the status and the headers. */
export function isBodyLazy({ response }: Pick<GatewayContext, 'response'>): boolean {
  return LAZY_BODY in response
}

export function setLazyBody(ctx: Pick<GatewayContext, 'response'>, body: LazyBody): void {
  if (isBodyLazy(ctx)) {
    ctx.response.body = PLACEHOLDER
    Object.assign(ctx.response, { [LAZY_BODY]: body })
  } else body.send()
}

/** Sends lazy bodies that are untouched when all other middleware has ended. */
export const sendLazyBody: GatewayMiddleware = async ({ response }, next) => {
  await next()
  const lazy = (response as LazyResponse)[LAZY_BODY]
  lazy?.send()
}
