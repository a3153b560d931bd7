import type { IncomingHttpHeaders } from 'node:http'

const HOST = /^[\w.-]+(:\d{1,5})?$|^\[[\da-f:.]+\](:\d{1,5})?$/i

/**
 * The address of the gateway as the client has it, without a slash at the end, as the request says. Only for
 * answers to the same client: it may say anything.
 */
export function ownUrl(headers: IncomingHttpHeaders): string {
  const proto = headers['x-forwarded-proto'] === 'https' ? 'https' : 'http'
  const host = [headers['x-forwarded-host']].flat()[0] ?? headers.host ?? ''
  return `${proto}://${HOST.test(host) ? host : 'localhost'}`
}
