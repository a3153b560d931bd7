import { GatewayError } from '../../core/contract/errors.ts'

/**
 * The error for an invalid value of a request field. The message is `<param> <constraint>`. `quoted` is what
 * the constraint quotes of the request.
 */
export function invalidValueError(param: string, constraint: string, quoted?: string): GatewayError {
  return new GatewayError('invalid_value', `${param} ${constraint}`, { param, ...(quoted && { quoted }) })
}

/** The error for a missing request field. */
export function missingParameterError(param: string): GatewayError {
  return new GatewayError('missing_parameter', `${param} is missing.`, { param })
}

/**
 * The error for a request field that the provider does not support. The message is `<param> <constraint>`.
 */
export function unsupportedParameterError(param: string, constraint: string, quoted?: string): GatewayError {
  return new GatewayError('unsupported_parameter', `${param} ${constraint}`, {
    param,
    ...(quoted && { quoted }),
  })
}

/** The error for a part of a message that the provider does not support. */
export function unsupportedPartError(provider: string, param: string, type: string): GatewayError {
  return unsupportedParameterError(
    param,
    `has the type "${type}", which ${provider} does not support here.`,
    type,
  )
}
