import { budgetOf, readBudget, setBudget } from './budgets.ts'
import { askAsUser, playStorm, STORM_TOKENS } from './chat-storm.ts'
import type { Answer, RunningGateway } from './gateway.ts'
import type { Hold } from './hold.ts'
import { newUser, type TestUser } from './new-user.ts'
import { completionOf, type ScriptedProvider } from './scripted-provider.ts'
import { waitUntil } from './wait.ts'

/** Two gateways on one log and ledger. */
export type GatewayPair = readonly [RunningGateway, RunningGateway]

/** A user of two gateways who uses up a budget, while Redis or the ledger fail. */
export class BudgetUser {
  readonly user: TestUser
  readonly #gateways: GatewayPair
  readonly #provider: ScriptedProvider

  private constructor(user: TestUser, gateways: GatewayPair, provider: ScriptedProvider) {
    this.user = user
    this.#gateways = gateways
    this.#provider = provider
  }

  static async create(gateways: GatewayPair, provider: ScriptedProvider): Promise<BudgetUser> {
    playStorm(provider)
    return new BudgetUser(await newUser(gateways[0]), gateways, provider)
  }

  /** Sets the budget. Resolves when the first gateway is connected to Redis. */
  async setLimit(limit_usd: number): Promise<void> {
    await waitUntil(async () => {
      const { status } = await setBudget(this.#gateways[0], budgetOf.user(this.user.id), { limit_usd })
      return status === 200
    })
  }

  async state(gateway = this.#gateways[1]) {
    const { spent_usd, reserved_usd } = await readBudget(gateway, budgetOf.user(this.user.id))
    return { spent: spent_usd, reserved: reserved_usd }
  }

  /** Resolves with what was spent when nothing is reserved any more. */
  async spent(): Promise<number> {
    await waitUntil(async () => (await this.state()).reserved === 0)
    return (await this.state()).spent
  }

  /** Sends a request whose reply waits for the hold. Resolves when the provider has the request. */
  async holdRequest(gateway: RunningGateway, hold: Hold): Promise<{ readonly answer: Promise<Answer> }> {
    const last = this.#provider.last()
    const body = completionOf(STORM_TOKENS.prompt, STORM_TOKENS.reply)
    this.#provider.play({ body, until: hold.released })
    const answer = askAsUser(gateway, this.user.key)
    await waitUntil(async () => this.#provider.last() !== last)
    playStorm(this.#provider)
    return { answer }
  }

  /** Asks until the answer is final: a limit that cannot be checked for a moment is retried. */
  async ask(gateway: RunningGateway, until = 'budget_exceeded'): Promise<Answer> {
    for (;;) {
      const answer = await askAsUser(gateway, this.user.key)
      const { code } = answer.body.error ?? {}
      if (answer.status !== 503 && (code !== 'budget_reserved' || code === until)) return answer
    }
  }

  /** Asks until the budget is used up. Returns how many requests were served. */
  async useUp(until = 'budget_exceeded'): Promise<number> {
    for (let served = 0; ; served++) {
      const { status, body } = await this.ask(this.#gateways[served % 2] as RunningGateway, until)
      if (body.error?.code === until) return served
      if (status !== 200) throw new Error(JSON.stringify(body))
    }
  }
}
