import { GatewayError } from '../../core/contract/index.ts'

/** Collects the issues of a file by path, such as `policies[0].firewall_rules[2].pattern`. */
export class FileIssues {
  readonly #issues = new Map<string, string[]>()

  add(path: string, message: string): void {
    const known = this.#issues.get(path)
    if (known === undefined) this.#issues.set(path, [message])
    else known.push(message)
  }

  /** Returns what the function returns; undefined if it throws a `GatewayError`, which is added. */
  async collect<Result>(path: string, run: () => Result | Promise<Result>): Promise<Result | undefined> {
    try {
      return await run()
    } catch (error) {
      if (!GatewayError.isInstance(error)) throw error
      const { errors, param } = error.details
      for (const [field, messages] of Object.entries(errors ?? {}))
        for (const message of messages) this.add(`${path}.${field}`, message)
      if (errors === undefined) this.add(param === undefined ? path : `${path}.${param}`, error.message)
      return undefined
    }
  }

  /** Throws 422 with all issues, if there are any. */
  throwIfAny(): void {
    if (this.#issues.size === 0) return
    const lines = [...this.#issues].flatMap(([path, messages]) => messages.map((text) => `${path}: ${text}`))
    const count = lines.length === 1 ? '1 issue' : `${lines.length} issues`
    const shown = lines.length > MAX_SHOWN ? [...lines.slice(0, MAX_SHOWN), '…'] : lines
    throw new GatewayError('validation_error', `The file has ${count}. ${shown.join(' ')}`, {
      errors: Object.fromEntries(this.#issues),
    })
  }
}

/** The message of the error names this many issues; all of them are listed under `errors`. */
const MAX_SHOWN = 3
