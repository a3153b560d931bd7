import { type GatewayContext, GatewayError } from '../../core/contract/index.ts'

/** The parameters of a query, each given once at most; 400 for an unknown one, which would narrow nothing when it is misspelt. */
export function readQuery<Name extends string>(
  { query }: GatewayContext,
  names: readonly Name[],
): { readonly [name in Name]?: string } {
  const values: { [name in Name]?: string } = {}
  for (const [param, value] of Object.entries(query)) {
    const name = names.find((known) => known === param)
    if (name === undefined) {
      throw badParameter(param, `There is no parameter ${param} here. Known are ${names.join(', ')}.`)
    }
    if (typeof value !== 'string') throw badParameter(param, `${param} must be given once.`)
    values[name] = value
  }
  return values
}

/** 400 for a parameter that is not what it must be. */
export function badParameter(param: string, message: string): GatewayError {
  return new GatewayError('invalid_value', message, { param })
}
