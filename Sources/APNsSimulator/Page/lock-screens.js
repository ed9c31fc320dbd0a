// Draws what GET /phones and GET /pushes say, once a second. Everything that a push brought is put in as text, never as
// HTML: content is whatever a sender likes.
"use strict";

(() => {
    const phoneLimit = 100;
    const pushLimit = 40;
    const rowLimit = 24;
    const interval = 1000;

    const byID = (id) => document.getElementById(id);

    // An element with attributes and children; a text child becomes a text node, nothing becomes nothing.
    const make = (name, attributes = {}, ...children) => {
        const element = document.createElement(name);
        for (const [key, value] of Object.entries(attributes)) {
            if (value !== undefined && value !== null && value !== false) {
                element.setAttribute(key, value === true ? "" : String(value));
            }
        }
        const isNothing = (child) => child === undefined || child === null || child === false || child === "";
        element.append(...children.flat().filter((child) => !isNothing(child)));
        return element;
    };

    // --- Time -------------------------------------------------------------------------------------------------------

    // The simulator's clock less this machine's, in milliseconds.
    let clockOffset = 0;
    const now = () => Date.now() + clockOffset;

    const clock = new Intl.DateTimeFormat(undefined, { hour: "numeric", minute: "2-digit" });
    const clockWithSeconds = new Intl.DateTimeFormat(undefined, {
        hour: "numeric",
        minute: "2-digit",
        second: "2-digit",
    });
    const day = new Intl.DateTimeFormat(undefined, { weekday: "long", month: "long", day: "numeric" });

    const duration = (milliseconds) => {
        const seconds = Math.max(0, Math.round(milliseconds / 1000));
        if (seconds < 60) return `${seconds} s`;
        const minutes = Math.floor(seconds / 60);
        if (minutes < 60) return `${minutes} min`;
        return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
    };

    const phrases = {
        clock: () => clock.format(now()).replace(/\s?[AP]M$/i, ""),
        day: () => day.format(now()),
        ago: (time) => (now() - time < 1500 ? "now" : `${duration(now() - time)} ago`),
        running: (time) => `started ${phrases.ago(time)}`,
        leaving: (time) => `leaves in ${duration(time - now())}`,
        stale: (time) => `stale for ${duration(now() - time)}`,
    };

    // A time that goes on by itself.
    const ticking = (phrase, time) => {
        const element = make("time", { "data-phrase": phrase, "data-time": time });
        if (time !== undefined) element.setAttribute("datetime", isoTime(time));
        element.textContent = phrases[phrase](time);
        return element;
    };

    const isoTime = (time) => {
        const date = new Date(time);
        return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
    };

    const tick = () => {
        for (const element of document.querySelectorAll("time[data-phrase]")) {
            const phrase = element.getAttribute("data-phrase");
            const text = phrases[phrase](Number(element.getAttribute("data-time")));
            if (element.textContent !== text) element.textContent = text;
        }
    };

    // --- Content ----------------------------------------------------------------------------------------------------

    // A number that JavaScript would print in another way keeps the digits of the push, where the browser tells them.
    const keepDigits = (key, value, context) => {
        if (typeof value !== "number" || context?.source === undefined || context.source === String(value)) return value;
        return Object.assign(Object(value), { digits: context.source });
    };

    const text = (value) => {
        if (typeof value === "string") return value;
        if (value instanceof Number) return value.digits;
        if (value === null || typeof value !== "object") return String(value);
        if (Array.isArray(value)) return value.length === 0 ? "none" : value.map(text).join(", ");
        return JSON.stringify(value);
    };

    const isObject = (value) =>
        value !== null && typeof value === "object" && !Array.isArray(value) && !(value instanceof Number);

    // The members of a state as rows, those of objects inside under the names of both.
    const rows = (state, prefix = "", depth = 0) =>
        Object.entries(state).flatMap(([key, value]) =>
            isObject(value) && depth < 3 && Object.keys(value).length > 0
                ? rows(value, `${prefix}${key} › `, depth + 1)
                : [[prefix + key, text(value)]],
        );

    // The last part of a bundle ID, which is mostly the app's name.
    const appName = (bundleID) => (bundleID ?? "").split(".").filter(Boolean).pop() ?? "app";

    const hue = (name) => {
        let hash = 7;
        for (const character of name) hash = (hash * 31 + character.codePointAt(0)) % 360;
        return hash;
    };

    const icon = (bundleID) => {
        const name = appName(bundleID);
        const element = make("span", { class: "icon", "aria-hidden": "true" }, [...name][0].toUpperCase());
        element.style.setProperty("--hue", hue(bundleID ?? name));
        return element;
    };

    // --- Lock screen ------------------------------------------------------------------------------------------------

    const stateNames = {
        active: "live",
        stale: "stale",
        ended: "ended",
        expired: "over after 8 h",
    };

    const activityName = (activity) => activity.activity ?? activity.token ?? activity.attributesType ?? "activity";

    const activityTime = (activity) => {
        if (activity.state === "stale") return ticking("stale", activity.staleDate * 1000);
        if (activity.state === "active") return ticking("running", activity.startedAt * 1000);
        return ticking("leaving", activity.leavesAt * 1000);
    };

    const alertLine = (alert) =>
        alert &&
        make(
            "p",
            { class: "alert", "data-alert": true },
            sound(alert.sound),
            make("strong", { dir: "auto" }, alert.title ?? ""),
            " ",
            make("span", { dir: "auto" }, alert.body ?? ""),
        );

    const sound = (name) =>
        name && make("span", { class: "sound", role: "img", title: name, "aria-label": `sound ${name}`, "data-sound": name }, "♪");

    const card = (activity, isFresh) => {
        const name = activityName(activity);
        const all = rows(activity.contentState ?? {});
        const shown = all.slice(0, rowLimit);
        return make(
            "article",
            {
                class: isFresh ? "card activity fresh" : "card activity",
                "aria-label": `Live Activity ${name}, ${stateNames[activity.state] ?? activity.state}`,
                "data-activity": name,
                "data-token": activity.token,
                "data-state": activity.state,
            },
            make(
                "header",
                {},
                icon(activity.bundleId),
                make(
                    "div",
                    { class: "names" },
                    make("strong", { dir: "auto" }, name),
                    make("small", {}, [activity.attributesType, appName(activity.bundleId)].filter(Boolean).join(" · ")),
                ),
                make("span", { class: "state" }, stateNames[activity.state] ?? activity.state),
            ),
            alertLine(activity.alert),
            activity.contentState === null || activity.contentState === undefined
                ? make("p", { class: "quiet" }, "Waiting for its first push")
                : make(
                      "dl",
                      { class: "content" },
                      shown.map(([key, value]) =>
                          make(
                              "div",
                              { "data-key": key },
                              make("dt", { dir: "auto" }, key),
                              make("dd", { dir: "auto" }, value === "" ? "“”" : value),
                          ),
                      ),
                  ),
            all.length === 0 && activity.contentState && make("p", { class: "quiet" }, "An empty state: {}"),
            all.length > shown.length && make("p", { class: "quiet" }, `and ${all.length - shown.length} more`),
            make(
                "footer",
                {},
                activityTime(activity),
                make("span", {}, count(activity.updates, "push", "pushes")),
                activity.channel && make("span", { title: activity.channel, "data-channel": activity.channel }, "follows a channel"),
                activity.ignored > 0 && make("span", { class: "warns" }, `${activity.ignored} ignored`),
            ),
        );
    };

    const count = (number, one, many) => `${number} ${number === 1 ? one : many}`;

    const notificationCard = (notification, isFresh) =>
        make(
            "article",
            {
                class: isFresh ? "card notification fresh" : "card notification",
                "aria-label": `Notification from ${appName(notification.bundleId)}`,
                "data-notification": notification.id,
                "data-badge": notification.badge,
                "data-thread": notification.threadId,
                "data-collapse-id": notification.collapseId,
            },
            icon(notification.bundleId),
            make(
                "div",
                { class: "words" },
                make(
                    "header",
                    {},
                    make("strong", { dir: "auto", "data-title": true }, notification.title ?? appName(notification.bundleId)),
                    ticking("ago", notification.receivedAt),
                ),
                notification.subtitle && make("p", { class: "subtitle", dir: "auto" }, notification.subtitle),
                notification.body && make("p", { dir: "auto", "data-body": true }, notification.body),
                make(
                    "footer",
                    {},
                    sound(notification.sound),
                    notification.badge !== undefined &&
                        make("span", { class: "badge", title: "the badge it set" }, notification.badge),
                    notification.threadId && make("span", { dir: "auto" }, notification.threadId),
                    notification.interruptionLevel && make("span", {}, notification.interruptionLevel),
                ),
            ),
        );

    // The activity in the Dynamic Island: the highest relevance score, then the first that started.
    const island = (activities) => {
        const running = activities.filter((activity) => activity.state === "active" || activity.state === "stale");
        const score = (activity) => Number(activity.relevanceScore ?? 0);
        running.sort((one, other) => score(other) - score(one) || one.startedAt - other.startedAt);
        const first = running[0];
        const value = first && rows(first.contentState ?? {})[0]?.[1];
        return make(
            "div",
            { class: first ? "island busy" : "island", role: "img", "aria-label": first ? `Dynamic Island: ${activityName(first)}` : "Dynamic Island" },
            first && icon(first.bundleId),
            first && make("span", { dir: "auto" }, value ?? activityName(first)),
        );
    };

    const outcomeTexts = {
        shown: "shown",
        woke_app: "woke the app, nothing to see",
        dropped: "the answer was dropped, as declared",
    };

    const kindName = (event) => [event.kind, event.activity].filter(Boolean).join(" of ");

    // What came of the last push, where that is not simply to be seen above.
    const lastEvent = (event) => {
        if (!event || (event.outcome === "shown" && !event.ignoredPart)) return null;
        const part = event.ignoredPart;
        const words =
            event.outcome === "ignored"
                ? `accepted by APNs, ignored by the phone: ${event.explanation}`
                : event.outcome === "refused"
                  ? `refused by APNs: ${event.status} ${event.reason}`
                  : part
                    ? `shown, but its ${part.what} was ignored: ${part.explanation}`
                    : outcomeTexts[event.outcome];
        return make(
            "p",
            {
                class: "last",
                "data-outcome": event.outcome,
                "data-reason": event.reason ?? part?.reason,
            },
            make("strong", { dir: "auto" }, `Last push (${kindName(event)}): `),
            words,
        );
    };

    const budget = (app) => {
        const meter = make("meter", {
            min: 0,
            max: Math.max(1, app.budget.limit),
            value: app.budget.spent,
            "aria-label": `priority-10 budget of ${appName(app.bundleId)}`,
        });
        const used = `${app.budget.spent} of ${app.budget.limit} at priority 10 this hour`;
        return make(
            "li",
            { "data-app": app.bundleId, "data-spent": app.budget.spent, "data-limit": app.budget.limit },
            icon(app.bundleId),
            meter,
            make("span", {}, used),
            app.badge > 0 && make("span", { class: "badge", "aria-label": `badge ${app.badge}` }, app.badge),
        );
    };

    const freshKeys = (phone) => [
        ...phone.activities.map((activity) => `a ${activity.token} ${activity.startedAt} ${activity.updates} ${activity.state}`),
        ...phone.notifications.map((notification) => `n ${notification.id} ${notification.receivedAt}`),
    ];

    const draw = (phone, known) => {
        const isFresh = (key) => known !== undefined && !known.has(key);
        const visible = phone.activities
            .map((activity, index) => ({ activity, key: freshKeys(phone)[index] }))
            .filter(({ activity }) => activity.state !== "dismissed");
        const notificationKeys = freshKeys(phone).slice(phone.activities.length);
        const isEmpty = visible.length === 0 && phone.notifications.length === 0;
        return make(
            "article",
            { class: "phone", "aria-label": `Phone ${phone.name}`, "data-phone": phone.name, "data-badge": phone.badge },
            make(
                "h3",
                {},
                make("span", { dir: "auto" }, phone.name),
                !phone.declared && make("small", {}, "undeclared token"),
            ),
            make(
                "div",
                { class: "screen" },
                island(phone.activities),
                make("p", { class: "day" }, ticking("day")),
                make("p", { class: "clock" }, ticking("clock")),
                make(
                    "div",
                    { class: "stack" },
                    visible.map(({ activity, key }) => card(activity, isFresh(key))),
                    phone.notifications.map((notification, index) =>
                        notificationCard(notification, isFresh(notificationKeys[index])),
                    ),
                    isEmpty && make("p", { class: "nothing" }, "Nothing on the lock screen"),
                ),
                make("div", { class: "home", "aria-hidden": "true" }),
            ),
            lastEvent(phone.events[0]),
            make("ul", { class: "budgets", "aria-label": "Apps" }, phone.apps.map(budget)),
        );
    };

    // Phones that are drawn: name -> {element, text, keys}.
    const drawn = new Map();

    const showPhones = (phones) => {
        const shelf = byID("phones");
        const names = new Set(phones.map((phone) => phone.name));
        for (const [name, entry] of drawn) {
            if (!names.has(name)) {
                entry.element.remove();
                drawn.delete(name);
            }
        }
        phones.forEach((phone, index) => {
            const text = JSON.stringify(phone);
            let entry = drawn.get(phone.name);
            if (entry?.text !== text) {
                const element = draw(phone, entry?.keys);
                entry?.element.replaceWith(element);
                entry = { element, text, keys: new Set(freshKeys(phone)) };
                drawn.set(phone.name, entry);
            }
            if (shelf.children[index] !== entry.element) shelf.insertBefore(entry.element, shelf.children[index] ?? null);
        });
        byID("no-phones").hidden = phones.length > 0;
        const more = byID("more-phones");
        more.hidden = phones.length < phoneLimit;
        more.textContent = `The first ${phoneLimit} phones. GET /phones?limit=N has more of them.`;
    };

    // --- Pushes -----------------------------------------------------------------------------------------------------

    const verdict = (push) => {
        const ignored = push.ignoredByPhone;
        if (push.dropped !== undefined) return { outcome: "dropped", words: `arrived; ${outcomeTexts.dropped} (${push.dropped})` };
        if (push.status !== 200) return { outcome: "refused", reason: push.reason, words: `refused by APNs: ${push.status} ${push.reason}` };
        if (ignored?.what === "push") {
            return { outcome: "ignored", reason: ignored.reason, words: `accepted by APNs, ignored by the phone: ${ignored.explanation}` };
        }
        if (ignored) {
            return { outcome: "partly", reason: ignored.reason, words: `shown, but its ${ignored.what} was ignored: ${ignored.explanation}` };
        }
        if (push.headers["apns-push-type"] === "background") {
            return { outcome: "woke_app", words: `accepted by APNs, ${outcomeTexts.woke_app}` };
        }
        const isEnd = push.payload?.aps?.event === "end";
        if (push.phones !== undefined) {
            const count = push.phones.length;
            return { outcome: "shown", words: `accepted by APNs, ${count} ${count === 1 ? "activity follows" : "activities follow"} the channel` };
        }
        return { outcome: "shown", words: `accepted by APNs, ${isEnd ? "the phone ends the activity" : "shown by the phone"}` };
    };

    const marks = { shown: "✓", woke_app: "✓", partly: "!", ignored: "!", refused: "✕", dropped: "…" };

    const pushItem = (push, isFresh) => {
        const { outcome, reason, words } = verdict(push);
        const aps = push.payload?.aps;
        const event = isObject(aps) && aps.event !== undefined ? text(aps.event) : undefined;
        const type = push.headers["apns-push-type"];
        const to = push.channel ?? push.phone ?? (push.token.length > 20 ? `${push.token.slice(0, 12)}…` : push.token);
        const priority = push.headers["apns-priority"] ?? "10, as none is given";
        return make(
            "li",
            { class: isFresh ? "fresh" : "", "data-push": push.index, "data-outcome": outcome, "data-reason": reason },
            make("span", { class: "mark", "aria-hidden": "true" }, marks[outcome]),
            make(
                "div",
                {},
                make(
                    "p",
                    { class: "what" },
                    make(
                        "span",
                        {},
                        make("strong", { dir: "auto" }, [event, type].filter(Boolean).join(" · ") || "push"),
                        " to ",
                        make("bdi", { "data-to": to }, to || "no token"),
                    ),
                    make("time", { datetime: isoTime(push.receivedAt) }, clockWithSeconds.format(push.receivedAt)),
                ),
                make("p", { class: "verdict" }, words, reason && outcome !== "refused" && make("code", {}, reason)),
                make(
                    "details",
                    { "data-index": push.index },
                    make("summary", {}, `priority ${priority} · ${push.bytes} bytes`),
                    make("pre", { dir: "auto" }, JSON.stringify({ ...push.headers, payload: push.payload }, null, 2)),
                ),
            ),
        );
    };

    let newestPush = -1;

    const showPushes = (pushes) => {
        const list = byID("pushes");
        const open = new Set([...list.querySelectorAll("details[open]")].map((details) => details.getAttribute("data-index")));
        const isFirst = newestPush < 0;
        const items = pushes.slice().reverse().map((push) => pushItem(push, !isFirst && push.index > newestPush));
        list.replaceChildren(...items);
        for (const details of list.querySelectorAll("details")) {
            if (open.has(details.getAttribute("data-index"))) details.setAttribute("open", "");
        }
        byID("no-pushes").hidden = pushes.length > 0;
        const last = pushes[pushes.length - 1];
        if (last !== undefined && last.index > newestPush) {
            if (!isFirst) byID("news").textContent = `Push to ${last.phone ?? (last.channel === undefined ? "an unknown token" : "a channel")}: ${verdict(last).words}`;
            newestPush = last.index;
        }
    };

    // --- Following --------------------------------------------------------------------------------------------------

    const tags = {};

    // What a path says, if that is new; else undefined.
    const news = async (path) => {
        const answer = await fetch(path, { cache: "no-store", headers: tags[path] ? { "If-None-Match": tags[path] } : {} });
        if (answer.status === 304) return undefined;
        if (!answer.ok) throw new Error(`${path} answered ${answer.status}`);
        const body = JSON.parse(await answer.text(), keepDigits);
        tags[path] = answer.headers.get("etag");
        const time = Number(answer.headers.get("x-simulator-time"));
        if (time > 0) clockOffset = time - Date.now();
        return body;
    };

    const connection = (state, words) => {
        const element = byID("connection");
        if (element.getAttribute("data-connection") === state) return;
        element.setAttribute("data-connection", state);
        element.textContent = words;
    };

    const follow = async () => {
        try {
            const phones = await news(`/phones?limit=${phoneLimit}`);
            if (phones !== undefined) showPhones(phones);
            const pushes = await news(`/pushes?limit=${pushLimit}`);
            if (pushes !== undefined) showPushes(pushes.pushes);
            connection("live", "Live");
        } catch (error) {
            console.error(error);
            connection("lost", "The simulator does not answer; trying again");
        }
        tick();
        setTimeout(follow, interval);
    };

    byID("declaration").textContent =
        `curl ${location.origin}/tokens -d '{"token": "…", "phone": "my-iphone", "kind": "activity", "activity": "order-1"}'`;
    follow();
})();
