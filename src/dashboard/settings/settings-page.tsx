/**
 * @module dashboard/settings/settings-page
 * Renders the Settings page: browser preferences, token permissions and shortcuts.
 */
import { useId } from 'react'
import { useSession } from '../api/session.ts'
import { KeyTable } from './key-list.tsx'
import { changePreferences, usePreferences, type Preferences } from './preferences.ts'
import './settings.css'

const THEMES: readonly { readonly value: Preferences['theme']; readonly text: string }[] = [
  { value: 'system', text: 'System' },
  { value: 'light', text: 'Light' },
  { value: 'dark', text: 'Dark' },
]

export function SettingsPage() {
  return (
    <>
      <h1>Settings</h1>
      <div className="settings">
        <BrowserSettings />
        <TokenScope />
        <section className="card">
          <h2>Keyboard shortcuts</h2>
          <KeySwitch />
          <KeyTable />
        </section>
      </div>
    </>
  )
}

function BrowserSettings() {
  const { theme, utc, name } = usePreferences()
  const id = useId()
  return (
    <section className="card">
      <h2>This browser</h2>
      <fieldset className="setting">
        <legend>Theme</legend>
        {THEMES.map(({ value, text }) => (
          <label key={value}>
            <input
              type="radio"
              name={id}
              checked={theme === value}
              onChange={() => changePreferences({ theme: value })}
            />{' '}
            {text}
          </label>
        ))}
      </fieldset>
      <fieldset className="setting">
        <legend>Time zone</legend>
        <label>
          <input type="radio" name={`${id}-zone`} checked={!utc} onChange={() => changePreferences({ utc: false })} />
          {' Local'}
        </label>
        <label>
          <input type="radio" name={`${id}-zone`} checked={utc} onChange={() => changePreferences({ utc: true })} />
          {' UTC'}
        </label>
      </fieldset>
      <p className="setting">
        <label htmlFor={`${id}-name`}>Your name in the config history</label>
        <input
          id={`${id}-name`}
          type="text"
          value={name}
          maxLength={100}
          autoComplete="off"
          onChange={(event) => changePreferences({ name: event.target.value })}
          aria-describedby={`${id}-help`}
        />
        <span id={`${id}-help`} className="soft">
          Your changes are recorded as dashboard:{name.trim() === '' ? 'name' : name}. The master does not verify this
          name.
        </span>
      </p>
    </section>
  )
}

function KeySwitch() {
  const { keys } = usePreferences()
  return (
    <p>
      <label>
        <input type="checkbox" checked={keys} onChange={(event) => changePreferences({ keys: event.target.checked })} />
        {' Enable single-key shortcuts'}
      </label>
    </p>
  )
}

function TokenScope() {
  const {
    me: { role, automations, workers, version, epoch, backend, limits },
  } = useSession()
  return (
    <section className="card">
      <h2>Token and master</h2>
      <dl className="facts">
        <div>
          <dt>Role</dt>
          <dd>{role}</dd>
        </div>
        <div>
          <dt>Automations</dt>
          <dd>
            <bdi>{automations.includes('*') ? 'all' : automations.join(', ')}</bdi>
          </dd>
        </div>
        {workers && (
          <div>
            <dt>Workers</dt>
            <dd>
              <bdi>{workers.join(', ')}</bdi>
            </dd>
          </div>
        )}
        <div>
          <dt>Master</dt>
          <dd>
            {version} on {location.host}
          </dd>
        </div>
        <div>
          <dt>Storage</dt>
          <dd>
            {backend.scheme}: {backend.durable ? 'persistent' : 'lost when the master stops'}
            {backend.shared ? ', shared by several masters' : ''}
          </dd>
        </div>
        <div>
          <dt>Storage epoch</dt>
          <dd>
            <code>{epoch}</code>
          </dd>
        </div>
        <div>
          <dt>Submit limit</dt>
          <dd>{limits.submit_rps_per_token === 0 ? 'unlimited' : `${limits.submit_rps_per_token} per second`}</dd>
        </div>
      </dl>
    </section>
  )
}
