import { GatewayError } from '../../core/contract/index.ts'

/** Runs a step for one of several things in a body; an error gets the place of that thing before its message. */
export function prefixErrors<Result>(where: string, run: () => Result): Result {
  try {
    return run()
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    throw new GatewayError(error.code, `${where}: ${error.message}`, error.details)
  }
}
