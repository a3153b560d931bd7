import { endpointUrl, send } from '../lib/api.ts'
import { useResource } from '../lib/resource.ts'
import { href } from '../lib/router.ts'
import type { Page, RequestRecord, UserAccount } from '../lib/types.ts'

/** Leads through the first steps, until a request has been answered. */
export function FirstRun() {
  const steps = useResource('first-run', async () => {
    const [users, requests] = await Promise.all([
      send<Page<UserAccount>>('GET', endpointUrl('/admin/users', { limit: 2 })),
      send<Page<RequestRecord>>('GET', endpointUrl('/admin/requests', { limit: 1 })),
    ])
    return { hasUser: users.data.length > 0, hasRequest: requests.data.length > 0 }
  })
  const { data } = steps
  if (data === undefined || data.hasRequest) return null
  return (
    <section class="panel first-run" aria-label="First steps">
      <h2>First steps</h2>
      <ol>
        <li class={data.hasUser ? 'done' : ''}>
          <a href={href('/users')}>Create a user</a> and a key for it. {data.hasUser && '✓'}
        </li>
        <li>
          Send a first request with the key:
          <pre>
            <code>{curlLine()}</code>
          </pre>
          Without the key of a provider, the built-in sandbox answers.
        </li>
        <li>
          <a href={href('/policies')}>Make a policy</a>: mask or block something in all requests, and send the
          request again.
        </li>
      </ol>
    </section>
  )
}

function curlLine(): string {
  return `curl ${endpointUrl('/v1/chat/completions')} \\
  -H "Authorization: Bearer $SIGNALBOX_KEY" -H "Content-Type: application/json" \\
  -d '{"model": "auto", "messages": [{"role": "user", "content": "Write to ada@example.com"}]}'`
}
