import { useEffect, useState } from 'preact/hooks'
import { GATEWAY, post, resumeSession } from '../lib/api.ts'
import { useAction } from '../lib/data.ts'
import { forgetDrafts } from '../lib/drafts.ts'
import type { ConsoleSession } from '../lib/schemas.ts'
import {
  announceSignIn,
  endSession,
  onSignInElsewhere,
  session,
  signInOptions,
  startSession,
} from '../lib/session.ts'
import { Dialog } from '../ui/dialogs.tsx'
import { Form, TextField } from '../ui/fields.tsx'
import { ErrorMessage } from '../ui/page.tsx'

/** The page that signs in. */
export function SignIn() {
  useEffect(() => {
    document.title = 'Sign in · Signalbox'
  }, [])
  return (
    <main class="sign-in">
      <img src={new URL('../icon.svg', import.meta.url).href} alt="" width="48" height="48" />
      <h1>Signalbox</h1>
      <SignInForms class="panel" />
    </main>
  )
}

/** Signs in over a page whose session has ended. What was entered there stays. */
export function SignInAgain() {
  const holder = session.value?.name
  useEffect(() => onSignInElsewhere(() => resumeSession().catch(() => undefined)), [])
  function leave() {
    forgetDrafts()
    endSession()
  }
  return (
    <Dialog title="Your session has ended" isRequired onClose={leave}>
      <p>
        Sign in again as <b>{holder}</b> to go on where you were. What you have entered is kept, and what you
        were saving is saved then.
      </p>
      <SignInForms isInNewWindow />
      <div class="actions end">
        <button type="button" class="quiet" onClick={leave}>
          Discard it, and leave
        </button>
      </div>
    </Dialog>
  )
}

interface SignInFormsProps {
  readonly class?: string
  /** Keeps the page while the identity provider is visited. */
  readonly isInNewWindow?: boolean
}

/** Signs in at the identity provider, if there is one, or with a key. */
function SignInForms({ class: className = '', isInNewWindow = false }: SignInFormsProps) {
  const { provider, keys = true } = signInOptions.value ?? {}
  const [usesAdminKey, setUsesAdminKey] = useState(false)
  return (
    <>
      {provider !== undefined && (
        <a class="button primary" href={loginUrl()} target={isInNewWindow ? '_blank' : undefined}>
          Sign in with {provider}
        </a>
      )}
      {keys || usesAdminKey ? (
        <KeyForm class={className} takesAll={keys} />
      ) : (
        <button type="button" class="quiet" onClick={() => setUsesAdminKey(true)}>
          Use the ADMIN_KEY
        </button>
      )}
    </>
  )
}

/** Leads back to the page that was asked for. */
function loginUrl(): string {
  const url = new URL('console/login', GATEWAY)
  url.searchParams.set('return_to', `/console/${location.hash}`)
  return url.href
}

function KeyForm({ class: className, takesAll }: { readonly class: string; readonly takesAll: boolean }) {
  const [key, setKey] = useState('')
  const signIn = useAction(async () => {
    const trimmed = key.trim()
    // API keys of users begin so. An ADMIN_KEY is free text.
    const path = trimmed.startsWith('tr_') ? '/console/user-session' : '/console/session'
    const headers = { authorization: `Bearer ${trimmed}` }
    startSession(await post<ConsoleSession>(path, { path: GATEWAY.pathname }, { headers }))
    announceSignIn()
  })
  return (
    <Form onSubmit={signIn.start} class={className}>
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
