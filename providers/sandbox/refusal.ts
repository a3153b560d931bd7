export interface RefusalDetails {
  /** The vendor's code; each format has its own for a status when left out. */
  readonly code?: string | undefined
  /** The request field at fault. */
  readonly param?: string
}

/** An error answer of the sandbox, before a format gives it the vendor's shape. */
export class Refusal extends Error {
  readonly status: number
  readonly details: RefusalDetails

  constructor(status: number, message: string, details: RefusalDetails = {}) {
    super(message)
    this.name = 'Refusal'
    this.status = status
    this.details = details
  }
}
