import type { IncomingHttpHeaders } from 'node:http'
// By its file, as in `connection.ts`.
import { parseHeaders } from 'undici/lib/core/util.js'

/** The head of a response. Few readers need headers, so they are parsed when they are asked for. */
export class ResponseHead {
  readonly status: number
  /** Names and values in turn. */
  private readonly raw: readonly Buffer[]
  private parsed: IncomingHttpHeaders | undefined

  constructor(status: number, raw: readonly Buffer[]) {
    this.status = status
    this.raw = raw
  }

  get headers(): IncomingHttpHeaders {
    this.parsed ??= parseHeaders(this.raw)
    return this.parsed
  }

  /** The value of one header, with its name in lower case; several ones with commas. */
  find(wanted: string): string | undefined {
    const { raw } = this
    let found: string | undefined
    for (let index = 0; index + 1 < raw.length; index += 2) {
      if (!isName(raw[index] as Buffer, wanted)) continue
      const value = (raw[index + 1] as Buffer).toString('latin1')
      found = found === undefined ? value : `${found},${value}`
    }
    return found
  }
}

/** Whether the name of a header is that in lower case. */
function isName(name: Buffer, wanted: string): boolean {
  if (name.length !== wanted.length) return false
  for (let index = 0; index < wanted.length; index++) {
    const code = name[index] as number
    const lower = code >= UPPER_A && code <= UPPER_Z ? code + TO_LOWER : code
    if (lower !== wanted.charCodeAt(index)) return false
  }
  return true
}

const UPPER_A = 0x41
const UPPER_Z = 0x5a
const TO_LOWER = 0x20

export function isErrorStatus({ status }: ResponseHead): boolean {
  return status > 299
}
