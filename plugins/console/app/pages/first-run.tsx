import { useCallback } from 'preact/hooks'
import { endpointUrl, get, send } from '../lib/api.ts'
import { useInterval, useResource } from '../lib/resource.ts'
import { hasRole } from '../lib/session.ts'
import type { Page, Policy, RequestRecord, UserAccount } from '../lib/types.ts'
import { FirstKey, FirstRequest, FirstRule, ProviderKeys } from './first-run-steps.tsx'

export interface FirstRunState {
  readonly configured: readonly string[]
  readonly users: readonly UserAccount[]
  readonly requests: number
  readonly policies: readonly Policy[]
}

const REFRESH_MS = 3000

/** With so many requests, somebody knows how it works. */
const KNOWN_REQUESTS = 10

interface ProviderStatus {
  readonly providers: readonly { readonly provider: string; readonly is_configured: boolean }[]
  readonly attention: readonly { readonly code: string }[]
}

async function loadState(): Promise<FirstRunState> {
  const [users, requests, policies, status] = await Promise.all([
    send<Page<UserAccount>>('GET', endpointUrl('/admin/users', { limit: 2 })),
    send<Page<RequestRecord>>('GET', endpointUrl('/admin/requests', { limit: KNOWN_REQUESTS })),
    get<readonly Policy[]>('/admin/policies'),
    get<ProviderStatus>('/admin/status'),
  ])
  // The sandbox stands in for all providers.
  const usesSandbox = status.attention.some(({ code }) => code === 'sandbox')
  const configured = usesSandbox ? [] : status.providers.filter(({ is_configured }) => is_configured)
  return {
    configured: configured.map(({ provider }) => provider),
    users: users.data,
    requests: requests.data.length,
    policies,
  }
}

/** Leads through the first steps: a key of a provider, a user, a request, and a rule with its effect. */
export function FirstRun() {
  const state = useResource('first-run', loadState)
  const { data } = state
  const isOver =
    data === undefined || data.requests >= KNOWN_REQUESTS || (data.requests > 0 && data.policies.length > 0)
  useInterval(
    REFRESH_MS,
    useCallback(() => isOver || state.reload(), [isOver]),
  )
  if (isOver || !hasRole('admin')) return null
  return (
    <section class="panel first-run" aria-label="First steps">
      <h2>First steps</h2>
      <ol>
        <ProviderKeys configured={data.configured} />
        <FirstKey users={data.users} onCreated={state.reload} />
        <FirstRequest isDone={data.requests > 0} />
        <FirstRule user={data.users[0]} onCreated={state.reload} />
      </ol>
    </section>
  )
}
