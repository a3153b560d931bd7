import { useEffect, useState } from 'preact/hooks'
import { GATEWAY, post } from '../lib/api.ts'
import { useAction } from '../lib/data.ts'
import type { ConsoleSession } from '../lib/schemas.ts'
import { session, signInOptions } from '../lib/session.ts'
import { Form, TextField } from '../ui/fields.tsx'
import { ErrorMessage } from '../ui/page.tsx'

/** Signs in at the identity provider, if there is one, or with a key. */
export function SignIn() {
  const { provider, keys = true } = signInOptions.value ?? {}
  const [usesAdminKey, setUsesAdminKey] = useState(false)
  useEffect(() => {
    document.title = 'Sign in · Signalbox'
  }, [])
  return (
    <main class="sign-in">
      <img src={new URL('../icon.svg', import.meta.url).href} alt="" width="48" height="48" />
      <h1>Signalbox</h1>
      {provider !== undefined && (
        <a class="button primary" href={loginUrl()}>
          Sign in with {provider}
        </a>
      )}
      {keys || usesAdminKey ? (
        <KeyForm takesAll={keys} />
      ) : (
        <button type="button" class="quiet" onClick={() => setUsesAdminKey(true)}>
          Use the ADMIN_KEY
        </button>
      )}
    </main>
  )
}

/** Leads back to the page that was asked for. */
function loginUrl(): string {
  const url = new URL('console/login', GATEWAY)
  url.searchParams.set('return_to', `/console/${location.hash}`)
  return url.href
}

function KeyForm({ takesAll }: { readonly takesAll: boolean }) {
  const [key, setKey] = useState('')
  const signIn = useAction(async () => {
    const trimmed = key.trim()
    // API keys of users begin so. An ADMIN_KEY is free text.
    const path = trimmed.startsWith('tr_') ? '/console/user-session' : '/console/session'
    const headers = { authorization: `Bearer ${trimmed}` }
    session.value = await post<ConsoleSession>(path, { path: GATEWAY.pathname }, { headers })
  })
  return (
    <Form onSubmit={signIn.start} class="panel">
      <TextField
        label="Key"
        type="password"
        value={key}
        onInput={setKey}
        required
        autoComplete="current-password"
        hint={
          takesAll
            ? 'The key of an operator, the ADMIN_KEY, or the API key of a user.'
            : 'The ADMIN_KEY, for when the identity provider is not available.'
        }
      />
      {signIn.error && <ErrorMessage error={signIn.error} />}
      <button type="submit" class="primary" disabled={signIn.isBusy}>
        Sign in
      </button>
    </Form>
  )
}
