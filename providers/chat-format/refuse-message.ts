import { GatewayError } from '../../core/contract/errors.ts'

/** The error for what a message holds and a vendor cannot be given: left out, the answer would be to something else. */
export function refuseMessage(format: string, what: string): GatewayError {
  const message = `Messages to ${format} cannot hold ${what}. Leave it out or choose another model.`
  return new GatewayError('unsupported_parameter', message, { param: 'messages' })
}
