import { type ErrorCode, type ErrorDefinition, findErrorDefinition } from './error-codes.ts'
import type { JsonObject } from './json.ts'
import { SignalboxError } from './signalbox-error.ts'

/** An error with a code that a plugin declares in `errorCodes`. */
export interface CustomError extends ErrorDetails {
  readonly code: string
  readonly status: number
  /** `type` on the wire; default `invalid_request_error`. */
  readonly type?: string
  readonly message: string
}

export interface ErrorDetails {
  /** HTTP status; that of the error code if undefined. */
  readonly status?: number
  /** Path of the invalid request field, such as `messages[0].role`. */
  readonly param?: string
  /** What the message quotes of the request. Records do not keep it. */
  readonly quoted?: string
  /** A more specific `code` for the response body, such as a provider's `context_length_exceeded`. */
  readonly wireCode?: string
  /** Machine-readable details, such as `{rule_id}`. */
  readonly meta?: JsonObject
  /** Validation issues by field. */
  readonly errors?: Readonly<Record<string, readonly string[]>>
  /** Whole seconds to wait before a retry. */
  readonly retryAfter?: number
  readonly headers?: Readonly<Record<string, string>>
  /**
   * Of a failed provider call that may be billed. `maybe`: the request was sent and not answered, so it is
   * not sent again unless the caller asked for that. `yes`: it was answered, but the answer is unusable.
   */
  readonly executed?: 'maybe' | 'yes'
  /** Of a request that is longer than the model's context. */
  readonly contextLengths?: ContextLengths
  readonly cause?: unknown
}

/** Numbers of tokens. */
export interface ContextLengths {
  readonly input: number
  /** What the request asked for, if it counts towards the limit. */
  readonly output?: number
  readonly limit: number
}

/** The error of every endpoint. `message` is sent to the caller, without API keys; `cause` is only logged. */
export class GatewayError extends SignalboxError {
  static override readonly brand = 'signalbox.GatewayError'

  /** An `ErrorCode`, or a code of a plugin. */
  readonly code: string
  readonly status: number
  readonly type: string
  readonly details: ErrorDetails

  constructor(error: CustomError)
  /** At run time, codes that plugins declare in `errorCodes` are accepted, too. */
  constructor(code: ErrorCode, message: string, details?: ErrorDetails)
  constructor(error: CustomError | ErrorCode, message = '', details: ErrorDetails = {}) {
    const custom = typeof error === 'string' ? toCustomError(error, message, details) : error
    const { code, status, type = 'invalid_request_error', message: text, ...rest } = custom
    if (!(status >= 400 && status <= 599))
      throw new TypeError(`${status} is not the status of an error. Pass one from 400 to 599.`)
    super(redactApiKeys(text), { cause: rest.cause })
    this.code = code
    this.status = status
    this.type = type
    this.details = rest
  }

  /** Returns the same error with another message. */
  withMessage(message: string): GatewayError {
    return copyError(this, { message })
  }

  /** Returns the same error with another path of its request field, also where the message has the path. */
  withParam(param: string): GatewayError {
    const { message, details } = this
    const { param: former = '' } = details
    // Plain words, such as "messages", may be prose.
    const text = /[^a-z]/.test(former) ? message.replaceAll(former, () => param) : message
    return copyError(this, { param, message: text })
  }

  /** Returns the same error with another response header. */
  withHeader(name: string, value: string): GatewayError {
    return copyError(this, { headers: { ...this.details.headers, [name]: value } })
  }

  /** Returns the same error of a provider call that may be billed. */
  withExecuted(executed: 'maybe' | 'yes'): GatewayError {
    return copyError(this, { executed })
  }

  get wireCode(): string {
    return this.details.wireCode ?? this.code
  }

  /** True if another target may be tried. */
  get mayFailOver(): boolean {
    return findErrorDefinition(this.code)?.failover ?? false
  }
}

function copyError(error: GatewayError, changes: Partial<CustomError>): GatewayError {
  const { code, status, type, message, details } = error
  return new GatewayError({ ...details, code, status, type, message, ...changes })
}

function toCustomError(code: string, message: string, details: ErrorDetails): CustomError {
  const definition = findErrorDefinition(code)
  if (definition !== undefined) {
    const { status, type } = definition
    return { ...details, code, status: details.status ?? status, type, message }
  }
  throw new TypeError(
    `"${code}" is not an error code of the gateway or of a plugin that is set up. ` +
      'Declare it in errorCodes, or pass { code, status, type, message }.',
  )
}

/** Returns a function that creates errors with codes that a plugin declares in `errorCodes`. */
export function errorsOf<Code extends string>(codes: Readonly<Record<Code, ErrorDefinition>>) {
  return (code: Code, message: string, details: ErrorDetails = {}): GatewayError => {
    const { status, type } = codes[code]
    return new GatewayError({ ...details, code, status: details.status ?? status, type, message })
  }
}

const API_KEY = /\b(?:tr|op)_[0-9A-Za-z]{43}\b/g

/**
 * Replaces API keys of the gateway by `[redacted]`. Callers put keys in the wrong place, such as a path, and
 * messages quote their input.
 */
export function redactApiKeys(text: string): string {
  return text.includes('tr_') || text.includes('op_') ? text.replace(API_KEY, '[redacted]') : text
}
