import type { IncomingHttpHeaders } from 'node:http'

const HOST = /^[\w.-]+(:\d{1,5})?$|^\[[\da-f:.]+\](:\d{1,5})?$/i

/**
 * The address of the gateway, without a slash at the end: that of the settings, or what the request says.
 * Only for answers to the same client, which may say anything.
 */
export function ownUrl(configured: string | undefined, headers: IncomingHttpHeaders): string {
  if (configured !== undefined) return configured.replace(/\/+$/, '')
  const proto = headers['x-forwarded-proto'] === 'https' ? 'https' : 'http'
  const host = [headers['x-forwarded-host']].flat()[0] ?? headers.host ?? ''
  return `${proto}://${HOST.test(host) ? host : 'localhost'}`
}
