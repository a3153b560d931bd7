import { useEffect, useState } from 'preact/hooks'
import type { ApiError } from '../lib/api.ts'
import { toError } from '../lib/resource.ts'
import { signIn } from '../lib/sign-in.ts'
import { Form, TextField } from '../ui/fields.tsx'
import { ErrorMessage } from '../ui/page.tsx'

export function SignIn() {
  const [key, setKey] = useState('')
  const [error, setError] = useState<ApiError>()
  const [isBusy, setBusy] = useState(false)
  useEffect(() => {
    document.title = 'Sign in · Signalbox'
  }, [])

  async function submit() {
    setBusy(true)
    setError(undefined)
    await signIn(key.trim()).catch((thrown: unknown) => setError(toError(thrown)))
    setBusy(false)
  }

  return (
    <main class="sign-in">
      <img src={new URL('../icon.svg', import.meta.url).href} alt="" width="48" height="48" />
      <h1>Signalbox</h1>
      <Form onSubmit={submit} class="panel">
        <TextField
          label="Key"
          type="password"
          value={key}
          onInput={setKey}
          required
          autoComplete="current-password"
          hint="The key of an operator, the ADMIN_KEY, or the API key of a user."
        />
        {error && <ErrorMessage error={error} />}
        <button type="submit" class="primary" disabled={isBusy}>
          Sign in
        </button>
      </Form>
    </main>
  )
}
