import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { TimedRequest } from './own-time.ts'

const incompleteResponses = new WeakSet<ServerResponse>()

/**
 * Makes the end of a streamed response show that its body is incomplete: after what was written, the
 * connection closes without the last chunk. Call it before the response ends. See docs/decisions/http.md, "A
 * stream that fails ends without the last chunk".
 */
export function markIncomplete(response: ServerResponse): void {
  incompleteResponses.add(response)
}

/** Who is told when a response has ended. */
export interface ResponseClient {
  /** `isFinished`: whether everything was written that the response has. The second call has no effect. */
  end(isFinished: boolean): void
}

/**
 * Time between the error record and the end of the connection, in milliseconds. HTTP libraries discard what
 * the application has not read yet when a connection breaks, and the record must not get lost.
 */
const LINGER_MS = 1000

/** A response that `markIncomplete` can end without the last chunk. */
export class InterruptibleResponse<
  Request extends IncomingMessage = IncomingMessage,
> extends ServerResponse<Request> {
  /** The request whose own time the head tells. */
  timed: TimedRequest | undefined
  /** Told when everything but the last chunk is written. */
  client: ResponseClient | undefined
  #isWritten = false

  override end(chunk?: unknown, encoding?: unknown, callback?: unknown): this {
    // The casts select one of three overloads. A response with a content-length is complete by its length.
    if (!incompleteResponses.has(this) || !this.chunkedEncoding)
      return super.end(chunk, encoding as BufferEncoding, callback as () => void)
    if (typeof chunk === 'string' || chunk instanceof Uint8Array) this.write(chunk)
    this.#isWritten = true
    this.client?.end(true)
    if (this.socket !== null) closeLater(this.socket)
    return this
  }

  /** Called when it is the turn of a pipelined request, whose response may be written already. */
  override assignSocket(socket: Socket): void {
    super.assignSocket(socket)
    if (this.#isWritten) closeLater(socket)
  }
}

function closeLater(socket: Socket): void {
  setTimeout(() => socket.destroySoon(), LINGER_MS).unref()
}
