import { Type } from '../../core/contract/index.ts'

/** A duration from 1 ms to one hour. */
export function Milliseconds(description: string) {
  return Type.Integer({ minimum: 1, maximum: 3_600_000, description })
}

export function Port(description: string) {
  return Type.Integer({ minimum: 0, maximum: 65_535, description })
}
