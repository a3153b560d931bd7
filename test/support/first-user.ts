/** Creates a paid user `demo` with the admin key of a gateway without users, and returns the user's key. */
export async function createFirstUser(url: string, adminKey: string): Promise<string> {
  const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' }
  const post = async (path: string, body: unknown) => {
    const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    const answer = (await response.json()) as { data: { id: number; key: string } }
    return answer.data
  }
  const { id } = await post('/admin/users', { name: 'demo', plan: 'paid' })
  return (await post(`/admin/users/${id}/keys`, {})).key
}
