import { IncomingMessage } from 'node:http'

/** Whether WebSocket connections are opened at the path. */
export type IsSocketPath = (path: string) => boolean

/**
 * Creates the class of requests of a server. If it listens for `upgrade`, Node hands over every request
 * with an Upgrade header, and does not read its body: also those of Java's client, which offers HTTP/2 with
 * each request. This class limits that to WebSockets. The others are answered as if without.
 */
export function createRequestClass(isSocketPath: IsSocketPath): typeof IncomingMessage {
  return class UpgradableRequest extends IncomingMessage {
    declare private isUpgradeRequested: boolean

    get upgrade(): boolean {
      if (!this.isUpgradeRequested) return false
      return this.method === 'CONNECT' || isSocketUpgrade(this, isSocketPath)
    }

    /** Set by Node's parser. */
    set upgrade(isRequested: boolean | null) {
      this.isUpgradeRequested = isRequested === true
    }
  }
}

function isSocketUpgrade(
  { method, url = '', headers }: IncomingMessage,
  isSocketPath: IsSocketPath,
): boolean {
  const [path = ''] = url.split('?', 1)
  return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket' && isSocketPath(path)
}
