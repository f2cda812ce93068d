"""The function words of languages: articles, pronouns, prepositions, conjunctions, auxiliaries, common adverbs.

They tell a language, and part phrases. ``DETERMINERS`` of a language stand directly before a noun or its adjectives; ``HOLLOW``
are nouns that mean nothing alone. All in lower case.
"""

from __future__ import annotations

from collections.abc import Mapping

_WORDS = {
    "en": """the a an and or but nor if then else than that this these those there here of in on at by for with from to into onto over under
        about after before between through during without within against among upon is are was were be been being am has have had having
        do does did done can could will would shall should may might must not no it its he she they them his her their we us our you your
        i me my who whom whose which what when where why how all any both each few more most other some such only own same so too very
        just also as until while because although though however therefore thus since yet even still often never always""",
    "de": """der die das den dem des ein eine einen einem einer eines kein keine keinen keinem keiner und oder aber sondern denn wenn dann als
        wie dass daß ob weil da damit obwohl während bevor nachdem bis sobald sowie sowohl weder noch entweder je desto ich du er sie es wir
        ihr mich dich sich uns euch mir dir ihm ihn ihnen mein meine meinen meinem meiner meines dein deine deinen deinem deiner deines sein seine seinen seinem seiner
        seines ihre ihren ihrem ihrer ihres unser unsere unseren unserem unserer unseres euer eure eurem euren eurer dieser diese dieses diesen diesem jener jene jenes
        jeder jede jedes jeden jedem jedes welcher welche welches welchen welchem solche solcher solches solchen man wer was wen wem wessen wo
        wohin woher wann warum weshalb wieso in im ins an am ans auf aufs aus bei beim mit nach von vom vor vorm zu zum zur zwischen für durch
        durchs gegen ohne um über unter hinter neben seit trotz wegen statt anstatt innerhalb außerhalb mittels gemäß laut anhand pro ab
        ist sind war waren bin bist sei seien wäre wären gewesen hat haben habe hatte hatten hätte hätten gehabt wird werden wurde wurden würde
        würden worden geworden werde kann können konnte konnten könnte könnten muss muß müssen musste mussten müsste soll sollen sollte sollten will
        wollen wollte wollten darf dürfen durfte mag mögen möchte möchten lässt lassen nicht nichts nie niemals nur auch schon noch sehr mehr
        meist meisten mehrere viel viele vielen wenig wenige einige einigen alle allen aller alles ander andere anderen anderer anderes beide
        beiden hier dort dann daher deshalb deswegen darum also jedoch doch zwar etwa eher immer oft manchmal wieder bereits jetzt nun heute
        so ganz gar etwas jemand niemand selbst zudem außerdem dabei dazu dadurch dafür dagegen damit danach daneben daran darauf daraus darin
        darüber darunter davon davor hierbei hierfür hierzu hiermit wobei wodurch wofür womit woran worauf wozu einmal zunächst zuerst schließlich
        beispielsweise bzw usw etc ggf sogar ebenfalls ebenso genau gerade bitte ja nein möglich statt weitere weiteren weiterer weiteres
        eigene eigenen erste ersten zwei drei neue neuen neuer neues gut gute guten groß große großen klein kleine kleinen verschiedene
        verschiedenen bestimmte bestimmten entsprechende entsprechenden folgende folgenden folgender folgendes
        nächste nächsten nächster nächstes letzte letzten letzter letztes einzelne einzelnen einzelner einzelnes ganze ganzen ganzer ganzes aktuelle
        aktuellen aktueller aktuelles gleiche gleichen gleicher gleiches wichtige wichtigen wichtiger wichtiges wichtigste wichtigsten obige obigen
        vorherige vorherigen jeweilige jeweiligen mögliche möglichen normale normalen einfache einfachen richtige richtigen zweite zweiten dritte
        dritten vorhandene vorhandenen zusätzliche zusätzlichen besondere besonderen übrige übrigen beliebige beliebigen beliebiges bestehende
        bestehenden sogenannte sogenannten derartige derartigen meinem""",
    "fr": """le la les l un une des du de d au aux et ou mais donc or ni car que qu qui quoi dont où lequel laquelle lesquels lesquelles auquel duquel
        si comme lorsque lorsqu quand puisque puisqu quoique afin tandis pendant depuis dès avant après pour par avec sans sous sur dans en entre
        vers chez contre hors selon malgré parmi outre jusque jusqu je j tu il elle on nous vous ils elles me m te t se s lui leur leurs y moi toi
        soi eux mon ma mes ton ta tes son sa ses notre nos votre vos ce c cet cette ces cela ceci ça celui celle ceux celles celui-ci celle-ci
        est sont était étaient être été étant suis es sommes êtes soit soient sera seront serait seraient fut ai as a avons avez ont avait avaient
        avoir eu ayant aura auront aurait auraient ait fait font faire faites faut falloir fallait peut peuvent pouvoir pouvez pourrait pourrez
        pouvons doit doivent devez devrait devoir devriez va vont aller vais allons veut veulent voulez vouloir ne n pas plus point jamais rien
        aucun aucune personne tout toute tous toutes chaque quelque quelques plusieurs certains certaines autre autres même mêmes tel telle tels
        telles très trop peu beaucoup moins aussi ainsi alors encore toujours souvent déjà puis ensuite enfin bien mal ici là voici voilà
        cependant toutefois pourtant néanmoins lors notamment surtout presque plutôt autant tant combien comment pourquoi oui non deux trois
        nouveau nouvelle nouveaux nouvelles bon bonne grand grande petit petite premier première dernier dernière seul seule suivant suivante
        suivants suivantes différents différentes actuel actuelle actuels actuelles précédent précédente précédents précédentes dernier derniers dernières nécessaire nécessaires
        possible possibles important importante importants importantes aujourd hui divers diverses éventuel éventuelle propre propres simple simples
        permet permettent utilise utilisent utiliser également simplement actuellement généralement directement""",
    "es": """el la los las lo un una unos unas de del al a y e o u ni pero sino mas que quien quienes cual cuales cuyo cuya donde cuando como si
        porque pues aunque mientras hasta desde para por con sin sobre entre hacia según contra bajo ante tras durante mediante en yo tú él ella
        nosotros vosotros usted ustedes ellos ellas me te se nos os le les mi mis tu tus su sus nuestro nuestra nuestros nuestras vuestro este
        esta estos estas ese esa esos esas aquel aquella aquellos aquellas esto eso aquello es son era eran ser sido siendo soy eres somos fue
        fueron será serán sería sea sean está están estaba estaban estar estado esté estén estamos ha han había habían haber hay haya hemos he
        habrá tiene tienen tenía tener tengo tenemos tiene puede pueden podía poder podemos podría podrían puedes pueda debe deben debería deber
        debes hace hacen hacer hecho hacemos va van ir vamos voy quiere quieren quieres quiero no sí nunca nada nadie ningún ninguna ninguno todo
        toda todos todas cada algún alguna algunos algunas alguno otro otra otros otras mismo misma mismos mismas tal tales tan tanto muy mucho mucha
        muchos muchas poco poca pocos pocas más menos también tampoco así entonces ya aún todavía siempre luego después antes ahora aquí allí ahí
        bien mal cómo qué cuál cuándo dónde quién sólo solo además embargo obstante casi incluso excepto salvo dos tres nuevo nueva nuevos nuevas
        buen bueno buena gran grande primer primera primero último última siguiente siguientes diferentes simplemente actualmente directamente
        generalmente anterior anteriores actual actuales necesario necesaria posible posibles importante importantes propio propia simple simples permite permiten usar usa usan ambos ambas cualquier cualquiera varios varias""",
    "it": """il lo la i gli le l un uno una di del dello della dei degli delle dell a al allo alla ai agli alle all da dal dallo dalla dai dagli dalle
        dall in nel nello nella nei negli nelle nell su sul sullo sulla sui sugli sulle sull con per senza tra fra e ed o ma anche che chi cui quale quali
        se come quando dove perché poiché mentre affinché benché io tu lui lei noi voi loro mi ti si ci vi ne me te sé mio mia miei mie tuo tua suo
        sua suoi sue nostro nostra nostri nostre vostro questo questa questi queste quello quella quelli quelle quel quei è sono era erano essere
        stato stata stati state sia siano sarà saranno sarebbe fu ha hanno aveva avevano avere ho abbiamo avete abbia può possono poteva potere
        potrebbe possiamo deve devono dovrebbe dovere fa fanno fare fatto va vanno viene vengono non più mai niente nulla nessuno nessuna tutto
        tutta tutti tutte ogni qualche alcuni alcune altro altra altri altre stesso stessa stessi stesse tale tali molto molta molti molte poco
        pochi meno così allora ancora già sempre spesso poi dopo prima ora adesso qui lì bene male solo soltanto quindi dunque però tuttavia
        inoltre infatti cioè oppure né due tre nuovo nuova nuovi nuove primo prima ultimo seguente seguenti diversi diverse""",
    "pt": """o a os as um uma uns umas de do da dos das em no na nos nas num numa por pelo pela pelos pelas para com sem sob sobre entre até desde
        contra após ante perante durante mediante e ou mas nem que quem qual quais cujo cuja onde quando como se porque pois embora enquanto
        ao à aos às eu tu ele ela nós vós você vocês eles elas me te lhe lhes meu minha meus minhas teu tua seu sua seus suas nosso nossa nossos nossas
        este esta estes estas esse essa esses essas aquele aquela aqueles aquelas isto isso aquilo deste desta desse dessa neste nesta nesse nessa
        é são era eram ser sido sendo sou somos foi foram será serão seria seja sejam está estão estava estavam estar esteja há havia haver tem têm
        tinha tinham ter tenha tenho temos pode podem podia poder poderia possa deve devem deveria dever faz fazem fazer feito vai vão vamos ir
        não sim nunca nada ninguém nenhum nenhuma tudo todo toda todos todas cada algum alguma alguns algumas outro outra outros outras mesmo
        mesma mesmos mesmas tal tais tão tanto muito muita muitos muitas pouco poucos mais menos também assim então já ainda sempre depois antes
        agora aqui ali bem mal só apenas além porém contudo entretanto portanto dois duas três novo nova novos novas primeiro primeira último
        seguinte seguintes diferentes qualquer ambos""",
    "nl": """de het een en of maar want dus dat die dit deze wie wat welke welk waar wanneer waarom hoe als dan toen omdat hoewel terwijl zodat
        voordat nadat indien tenzij in op aan bij van voor met naar uit over onder tussen door tegen zonder tot om sinds tijdens volgens binnen
        buiten achter naast ik jij je u hij zij ze wij we jullie mij me jou hem haar ons hen hun mijn jouw uw zijn onze zich is was waren ben bent
        geweest wordt worden werd werden geworden heeft hebben heb had hadden gehad kan kunnen kon konden kunt moet moeten moest zal zullen zou
        zouden mag mogen wil willen wilde gaat gaan doet doen niet geen niets nooit niemand iets iemand alle alles elke elk ieder iedere ander
        andere sommige veel vele weinig meer meest minder ook nog al wel zo zeer heel erg er hier daar nu altijd vaak soms weer reeds
        daarom echter toch alleen slechts zelf zelfs bijvoorbeeld namelijk eerst twee drie nieuwe nieuw eerste laatste volgende verschillende
        te men eigen beide hiervan hiermee daarmee daarvan waarbij waarmee""",
}
WORDS: Mapping[str, frozenset[str]] = {code: frozenset(words.split()) for code, words in _WORDS.items()}

_DETERMINERS = {
    "de": """der die das den dem des ein eine einen einem einer eines kein keine keinen keinem keiner im ins am zum zur vom beim mein meine
        meinen meinem meiner meines dein deine deinen deinem deiner deines sein seine seinen seinem seiner ihr ihre ihren ihrem ihrer unser unsere
        unseren unserem unserer dieser diese dieses diesen diesem jeder jede jedes jeden jedem und oder mit von für ohne durch als in auf aus über
        unter zwischen nach bei gegen um pro per alle allen mehrere viele einige""",
    "fr": """le la les l un une des du au aux mon ma mes son sa ses notre nos votre vos leur leurs ce cet cette ces chaque quelques plusieurs aucun
        aucune""",
    "es": """el la los las un una unos unas del al mi mis tu tus su sus nuestro nuestra nuestros nuestras este esta estos estas ese esa esos esas cada
        algún alguna algunos algunas ningún ninguna varios varias""",
    "it": """il lo la i gli le l un uno una del dello della dei degli delle dell al allo alla ai agli alle all dal dalla dai dalle dall nel nella nei
        nelle nell sul sulla sui sulle sull questo questa questi queste ogni alcuni alcune""",
    "pt": """o a os as um uma do da dos das no na nos nas num numa pelo pela pelos pelas ao à aos às seu sua seus suas este esta estes estas esse
        essa cada algum alguma alguns algumas""",
    "nl": """de het een elke elk deze dit die geen mijn haar onze uw""",
}
DETERMINERS: Mapping[str, frozenset[str]] = {code: frozenset(words.split()) for code, words in _DETERMINERS.items()}

_HOLLOW = {
    "de": """abschnitt absatz angabe anfang anhang antwort anzahl arbeit art artikel aspekt aufgabe ausnahme auswahl bedarf bedeutung bedingung beginn
        beispiel bemerkung bereich beschreibung besonderheit bezug blick dank detail dinge ding effekt eigenschaft einfluss einführung einleitung
        einsatz einstieg ende ergebnis erfahrung fall folge form frage fragen fähigkeit gegensatz gegenteil grund gruppe grundlage hilfe hinblick
        hinweis idee inhalt interesse jahr jahre kapitel lage leute lösung länge mal maß meinung menge mensch menschen methode mittel moment monat
        möglichkeit nachteil name namen not notiz nummer ordnung ort paar person problem prozess punkt rahmen recht regel reihe reihenfolge richtung
        rolle sache satz schritt seite sicht sinn situation sorge stand stelle stelle stunde stück stufe system tag tage tatsache teil text thema tipp typ
        abbildung tabelle listing aufruf überblick übersicht umgang umstand unterschied ursache variante vergleich verhalten version versuch vorgang vorgehen vorteil wahl weg weise welt
        wert wesen wirkung woche wort worte zahl zeichen zeile zeit zeitpunkt ziel zukunft zusammenhang zustand zweck anleitung vorwort lizenz autor""",
    "fr": """aide an année ans annexe article aspect attention auteur avantage avis base besoin but cas cause changement chapitre choix chose choses code
        comportement condition contenu contexte côté détail différence effet endroit ensemble erreur espace état étape exemple exemples façon fait fin
        fois fonction forme genre gens groupe heure idée intérêt introduction jour jours lien lieu ligne liste manière matière mesure mise mode moment
        mot mots moyen moyens nom nombre note notes numéro objet ordre outil page paragraphe part partie pas passage personne personnes place plupart
        point points position possibilité présent principe problème problèmes produit question questions raison raisons rapport recours règle réponse
        reste résultat résultats rôle section sens série situation solution sorte sujet suite système table temps terme termes test texte titre tour
        tutoriel type types usage utilisation valeur valeurs version vie vue licence annexes documentation figure tableau encart listing""",
    "es": """apartado artículo aspecto autor ayuda base caso casos causa cambio cambios capítulo código comienzo condición consejo contenido contexto cosa
        cosas cuenta cuestión dato decir detalle detalles día días diferencia efecto ejemplo ejemplos error espacio estado etapa fecha fin final
        forma formas función gente grupo hecho hora idea ideas información inicio interés introducción lado lista línea lugar manera mayoría medio
        método modo momento nivel nombre nombres nota notas número objetivo objeto opción opciones orden página palabra palabras parte partes paso
        pasos persona personas pregunta preguntas principio problema problemas proceso proyecto punto puntos razón razones regla relación respuesta
        resto resultado resultados sección sentido serie sistema situación solución tabla tema tiempo tipo tipos título trabajo uso usos valor valores
        ventaja versión vez veces vida vista licencia apéndice documentación listado figura listing""",
    "it": """aiuto anno anni articolo aspetto autore base caso casi causa capitolo codice condizione contenuto contesto cosa cose dato dettaglio differenza
        effetto esempio esempi errore fatto fine forma funzione gente giorno giorni gruppo idea informazioni inizio introduzione lato lavoro lista
        livello luogo maniera metodo modo momento nome nota numero oggetto ordine ora pagina parola parole parte parti passo passi persona persone
        problema problemi processo punto punti questione ragione regola risposta risultato risultati ruolo scopo senso serie sezione sistema situazione
        soluzione tempo testo tipo tipi titolo uso valore valori versione vita volta volte""",
    "pt": """ajuda ano anos artigo aspecto autor base caso casos causa capítulo código coisa coisas condição conteúdo contexto dado detalhe dia dias
        diferença efeito erro espaço estado exemplo exemplos fato fim final forma formas função gente grupo hora ideia informação início interesse
        introdução lado lista linha lugar maneira maioria método modo momento nível nome nota número objetivo objeto opção ordem página palavra palavras
        parte partes passo passos pergunta pessoa pessoas ponto pontos problema problemas processo questão razão regra resposta resto resultado seção
        sentido série sistema situação solução tempo texto tipo tipos título trabalho uso valor valores versão vez vezes vida""",
    "nl": """aantal aanpak artikel aspect auteur begin bijlage dag dagen deel delen detail ding dingen doel einde fout functie gebruik geval gevallen groep
        hoofdstuk hulp idee informatie inhoud inleiding jaar jaren keer keuze lijst lijn manier mensen methode moment naam nummer onderdeel onderwerp
        optie orde pagina persoon plaats probleem problemen proces punt punten reden regel resultaat rol situatie soort stap stappen systeem tekst tijd
        titel type vanaf verschil versie voorbeeld voorbeelden vraag vragen waarde week weg werk woord woorden zin""",
}
HOLLOW: Mapping[str, frozenset[str]] = {code: frozenset(words.split()) for code, words in _HOLLOW.items()}

JOINING: Mapping[str, frozenset[str]] = {
    "fr": frozenset(("de", "d", "du", "des", "à")),
    "es": frozenset(("de", "del")),
    "it": frozenset(("di", "del", "dello", "della", "dei", "degli", "delle", "dell")),
    "pt": frozenset(("de", "do", "da", "dos", "das")),
}
"""The words that may stand inside the name of one thing: "base de données"."""

ARTICLES: Mapping[str, frozenset[str]] = {
    "fr": frozenset("le la les l un une ce cet cette ces mon ma mes son sa ses leur leurs notre nos votre vos".split()),  # noqa: SIM905
    "es": frozenset("el la los las un una unos unas su sus este esta estos estas".split()),  # noqa: SIM905
    "it": frozenset("il lo la i gli le l un uno una questo questa".split()),  # noqa: SIM905
    "pt": frozenset("o a os as um uma seu sua seus suas este esta".split()),  # noqa: SIM905
    "nl": frozenset("de het een deze dit zijn haar hun".split()),  # noqa: SIM905
}
"""Determiners without a preposition: what stands between a noun and one of them is a verb."""
